import { expect, it } from 'vitest'
import { productFromHeaders, recipeFor } from './examine-edge-recipes.ts'

it.each([
  [{ server: 'nginx/1.25' }, 'nginx'],
  [{ server: 'openresty' }, 'nginx'],
  [{ server: 'istio-envoy' }, 'Envoy'],
  [{ 'x-envoy-upstream-service-time': '3' }, 'Envoy'],
  [{ via: '1.1 kong/3.4' }, 'Kong'],
  [{ server: 'nginx', 'x-kong-proxy-latency': '1' }, 'Kong'],
  [{ via: '1.1 abc.cloudfront.net (CloudFront)', server: 'nginx' }, 'AWS'],
  [{ 'x-amzn-trace-id': 'Root=1' }, 'AWS'],
  [{ server: 'cloudflare', 'cf-ray': '8' }, 'Cloudflare'],
  [{ server: 'Caddy' }, undefined],
  [{}, undefined],
])('an answer with %j has come through %s', (headers, product) => {
  expect(productFromHeaders(headers)).toBe(product)
})

it('a recipe names the product and the header; an edge that is not known gets general advice', () => {
  expect(recipeFor('response-header', 'Envoy', 'x-layer-status')).toMatch(
    /^Envoy: take x-layer-status out of response_headers/,
  )
  expect(recipeFor('response-header', undefined, 'x-layer-status')).toBe(
    'look for a rule that removes x-layer-status from responses',
  )
  expect(recipeFor('cut', 'nginx')).toContain('time-outs')
})
