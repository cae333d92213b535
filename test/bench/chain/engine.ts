import { type AddressInfo, createServer } from 'node:net'
import { prose } from '../bodies.ts'
import { readRequests } from '../upstream-requests.ts'

/**
 * The engine of the suite `chain`: an answer of 256 tokens, preserialised, after the model time that was set last, at first none. Prints
 * `ports {"engine": …, "time": …}`. Whoever sends a line with milliseconds to the second port sets the model time and gets a line back.
 */
const body = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: prose(1400) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1200, completion_tokens: 256, total_tokens: 1456 },
})
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
)
const list = '{"object":"list","data":[{"id":"bench","object":"model","created":1700000000,"owned_by":"bench"}]}'
const models = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${list.length}\r\n\r\n${list}`
let modelMs = 0

const engine = createServer({ noDelay: true }, (socket) => {
  // The only request without a body is for the list of models, and it comes in one piece.
  let listing = false
  socket.on('data', (bytes: Buffer) => {
    listing = bytes.toString('latin1', 0, 4) === 'GET '
  })
  readRequests(socket, ({ closes }) => {
    const said = listing ? models : answer
    const write = (): void => void (closes ? socket.end(said) : socket.write(said))
    if (modelMs === 0 || listing) write()
    else setTimeout(write, modelMs)
  })
})

const time = createServer((socket) => {
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes) => {
    modelMs = Number(bytes.toString())
    socket.end('set\n')
  })
})

const listening = [engine, time].map(
  (server) =>
    new Promise<number>((done) => {
      server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => done((server.address() as AddressInfo).port))
    }),
)
const [port, control] = await Promise.all(listening)
console.log(`ports ${JSON.stringify({ engine: port, time: control })}`)
