import { gatewayError } from '../../../plugins/errors.ts'
import type { Answer, Endpoint } from '../endpoint.ts'
import { type PageFile, pageFile, runbookFile } from './page-files.ts'

/** Nothing but our own files, none of them inside the page, and no markup made from text (CSP 3, Trusted Types). */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

function answerFrom(file: PageFile | undefined, held: string | undefined): Answer {
  if (!file) throw gatewayError('not_found', 'the page has no such file')
  const headers = {
    etag: file.etag,
    // Kept, but asked about each time: a new version shows at once.
    'cache-control': 'no-cache',
    'content-security-policy': pagePolicy,
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
  const known = held?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === file.etag)
  return { status: known ? 304 : 200, contentType: file.contentType, headers, body: known ? '' : file.body }
}

const page: Endpoint = {
  method: 'GET',
  path: '/',
  run: (_operations, { ifNoneMatch }) => answerFrom(pageFile('page.html'), ifNoneMatch),
}

const part: Endpoint = {
  method: 'GET',
  path: '/-/page/:file',
  run: (_operations, { params, ifNoneMatch }) => answerFrom(pageFile(params['file'] ?? ''), ifNoneMatch),
}

const runbook: Endpoint = {
  method: 'GET',
  path: '/-/page/runbooks/:name',
  run: (_operations, { params, ifNoneMatch }) => answerFrom(runbookFile(params['name'] ?? ''), ifNoneMatch),
}

/** `GET /`: the on-call page, and the files that it is made of. They hold nothing of this gateway, so no token is asked for. */
export const pageEndpoints: readonly Endpoint[] = [page, part, runbook]
