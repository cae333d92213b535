import type { LossKind } from './examine-edge-losses.ts'

/** Edges that we know by what they leave in answers. */
export type EdgeProduct = 'nginx' | 'Envoy' | 'Kong' | 'AWS' | 'Cloudflare'

/** Which edge has handled an answer, as far as its headers tell; undefined where they do not. */
export function productFromHeaders(headers: Readonly<Record<string, string>>): EdgeProduct | undefined {
  const said = `${headers['server'] ?? ''} ${headers['via'] ?? ''}`.toLowerCase()
  const names = Object.keys(headers).join(' ')
  if (/\bkong\b/.test(said) || names.includes('x-kong-')) return 'Kong'
  if (said.includes('cloudfront') || said.includes('awselb') || /x-amzn?-/.test(names)) return 'AWS'
  if (said.includes('cloudflare') || names.includes('cf-ray')) return 'Cloudflare'
  if (said.includes('envoy') || said.includes('istio') || names.includes('x-envoy-')) return 'Envoy'
  return /nginx|openresty/.test(said) ? 'nginx' : undefined
}

type Recipes = Readonly<Record<EdgeProduct, string>>

/** What to change at the edge, where its product is known; `NAME` is the header. */
const recipes: Readonly<Partial<Record<LossKind, Recipes>>> = {
  'response-header': {
    nginx: 'take out proxy_hide_header NAME (and more_clear_headers); nginx passes it by itself',
    Envoy: 'take NAME out of response_headers_to_remove of the route, the virtual host and the route configuration',
    Kong: 'take NAME out of `remove.headers` of the response-transformer plugin',
    AWS: 'CloudFront: take NAME out of “Remove headers” of the response headers policy; an ALB passes it by itself',
    Cloudflare: 'take NAME out of the Transform Rules that modify response headers',
  },
  'request-header': {
    nginx: 'take out proxy_set_header NAME "" and proxy_pass_request_headers off, or say proxy_set_header NAME $http_…',
    Envoy:
      'take NAME out of request_headers_to_remove; allow it in headers_with_underscores_action and ext_authz settings',
    Kong: 'take NAME out of `remove.headers` of the request-transformer plugin',
    AWS: 'CloudFront: use the origin request policy AllViewer (or list NAME in yours); ALB: look at drop_invalid_header_fields',
    Cloudflare: 'take NAME out of the Transform Rules that modify request headers',
  },
  'request-id': {
    nginx: 'say proxy_set_header X-Request-Id $http_x_request_id, and add no header X-Request-Id of its own',
    Envoy: 'set preserve_external_request_id: true in the HTTP connection manager',
    Kong: 'set `header_name` of the correlation-id plugin to another name',
    AWS: 'rename what your Lambda@Edge or CloudFront function writes; AWS itself uses x-amzn-trace-id',
    Cloudflare: 'take x-request-id out of Transform Rules and Workers; Cloudflare itself uses cf-ray',
  },
  'error-page': {
    nginx: 'say proxy_intercept_errors off, and take out error_page for this location',
    Envoy: 'take the mapper out of local_reply_config and custom_response filters',
    Kong: 'take out plugins that replace error bodies (exit-transformer)',
    AWS: 'CloudFront: delete the custom error responses for these statuses',
    Cloudflare: 'turn custom error pages off for this host name',
  },
  'cache-control': {
    nginx: 'take out expires, add_header Cache-Control and proxy_hide_header Cache-Control for this location',
    Envoy: 'take cache-control out of response_headers_to_add and response_headers_to_remove',
    Kong: 'take cache-control out of the response-transformer and proxy-cache plugins',
    AWS: 'CloudFront: use the cache policy CachingDisabled and no Cache-Control in the response headers policy',
    Cloudflare: 'set Browser Cache TTL to “respect existing headers” and a cache rule that bypasses this path',
  },
  compressed: {
    nginx: 'say gzip off (and brotli off) for this location',
    Envoy: 'take text/event-stream out of the content types of the compressor filter',
    Kong: 'take text/event-stream out of gzip_types of its nginx',
    AWS: 'CloudFront: turn “compress objects automatically” off for this behaviour',
    Cloudflare: 'add a compression rule that disables it for this path; keep cache-control: no-transform',
  },
  buffered: {
    nginx:
      'say proxy_buffering off and proxy_http_version 1.1, and do not ignore X-Accel-Buffering (proxy_ignore_headers)',
    Envoy: 'take the buffer filter and the compressor out of the route; look for filters that want whole bodies',
    Kong: 'set response_buffering: false on the route, and use no plugin that reads response bodies',
    AWS: 'an ALB with a Lambda target holds whole answers back: use an instance or IP target; CloudFront: turn compression off',
    Cloudflare: 'keep content-type text/event-stream, and turn response buffering off for this host name',
  },
  trailer: {
    nginx:
      'nginx from 1.27.2: proxy_http_version 1.1, proxy_set_header TE trailers, proxy_pass_trailers on; older ones drop trailers',
    Envoy: 'set enable_trailers: true in http_protocol_options of both the listener and the cluster',
    Kong: 'it drops trailers; clients have the in-band error event',
    AWS: 'ALB and CloudFront drop trailers over HTTP/1.1; clients have the in-band error event',
    Cloudflare: 'it drops trailers; clients have the in-band error event',
  },
}

const general: Readonly<Record<LossKind, string>> = {
  status: 'look at its routes, its own authentication and its firewall for this path',
  'response-header': 'look for a rule that removes NAME from responses',
  'request-header': 'look for a rule that removes NAME from requests, or an allow-list that it is not on',
  'request-id': 'let it keep the client’s x-request-id',
  changed: 'look for a rule that writes NAME',
  'error-page': 'let it pass bodies of errors on as they are',
  'content-type': 'let it pass content-type on as it is',
  'cache-control': 'let it pass cache-control on as it is',
  compressed: 'do not compress text/event-stream',
  buffered: 'turn response buffering off for this path',
  trailer: 'let it pass trailers on (HTTP/1.1 on both sides), or do without: clients have the in-band error event',
  cut: 'raise its time-outs for idle connections and whole responses over the longest generation',
}

/** What to do about a loss, for the edge that it happens at. */
export function recipeFor(kind: LossKind, product: EdgeProduct | undefined, name = 'it'): string {
  const recipe = product && recipes[kind]?.[product]
  const text = recipe ? `${product}: ${recipe}` : general[kind]
  return text.replaceAll('NAME', name)
}
