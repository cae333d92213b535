import type { FieldClass } from './difference.ts'

/** Members of answers in either dialect that are not held exactly, by normalised path; `**` stands for everything inside too. */
const classes: Readonly<Record<string, FieldClass>> = {
  id: 'P',
  created: 'P',
  system_fingerprint: 'P',
  request_id: 'P',
  'choices[*].logprobs**': 'P',
  'choices[*].message.tool_calls[*].id': 'P',
  'content[*].id': 'P',
  'choices[*].finish_reason': 'S',
  'choices[*].message.tool_calls': 'S',
  'choices[*].message.tool_calls[*].function.name': 'S',
  'choices[*].message.tool_calls[*].function.arguments': 'T',
  'choices[*].message.content': 'T',
  'choices[*].message.content[*].text': 'T',
  'choices[*].message.refusal': 'T',
  'choices[*].message.reasoning': 'T',
  'choices[*].message.reasoning_content': 'T',
  'choices[*].text': 'T',
  'error.message': 'T',
  'content[*].text': 'T',
  'content[*].thinking': 'T',
  'content[*].signature': 'P',
  'content[*].input**': 'T',
  'content[*].name': 'S',
  content: 'S',
  stop_reason: 'S',
  stop_sequence: 'S',
  'data[*].embedding**': 'N',
  'usage.completion_tokens': 'N',
  // What it must be is held by a rule of its own.
  'usage.total_tokens': 'N',
  'usage.output_tokens': 'N',
  'usage.completion_tokens_details**': 'N',
  'usage.prompt_tokens_details**': 'N',
  'usage.cache_read_input_tokens': 'N',
  'usage.cache_creation_input_tokens': 'N',
  'usage.queue_time': 'I',
  'usage.prompt_time': 'I',
  'usage.completion_time': 'I',
  'usage.total_time': 'I',
  timings: 'I',
}

const exact = new Map(Object.entries(classes).filter(([path]) => !path.endsWith('**')))
const inside = Object.entries(classes)
  .filter(([path]) => path.endsWith('**'))
  .map(([path, of]) => [path.slice(0, -2), of] as const)

/** The class of a field of an answer's body, by its normalised path. A field that nobody has placed is held exactly. */
export function bodyClass(path: string): FieldClass {
  return exact.get(path) ?? inside.find(([start]) => path === start || startsInside(path, start))?.[1] ?? 'H'
}

function startsInside(path: string, start: string): boolean {
  const next = path[start.length]
  return path.startsWith(start) && (next === '.' || next === '[')
}

const ignored: ReadonlySet<string> = new Set(
  (
    'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade http2-settings ' +
    'content-length content-encoding server server-timing via x-powered-by alt-svc nel report-to ' +
    'openai-processing-ms x-envoy-upstream-service-time x-response-time x-runtime ' +
    'x-execution-context x-layer-ack x-layer-ack-end'
  ).split(' '),
)
const presence: ReadonlySet<string> = new Set(
  'date x-request-id request-id traceparent tracestate set-cookie etag last-modified age'.split(' '),
)

/** The class of a response header, by its name in lower case. One that nobody has placed is held exactly. */
export function headerClass(name: string): FieldClass {
  if (ignored.has(name) || name.startsWith('cf-')) return 'I'
  return presence.has(name) ? 'P' : 'H'
}
