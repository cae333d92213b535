/**
 * Loaded into a process with `--import`: counts the texts that JSON is read from and written to and that are bodies: those of 5,000 characters and
 * more, and answers and their chunks of whatever length. Contexts and acknowledgements are not among them, probes of runners are. SIGALRM
 * prints what was counted since the last one, with its number in front.
 */
const bodyLength = 5_000
const { parse, stringify } = JSON
let counted = { parses: 0, writes: 0 }
let times = 0

function isBody(text: string): boolean {
  return text.length >= bodyLength || text.includes('"chat.completion')
}

JSON.parse = (text: string, ...more: []) => {
  if (isBody(String(text))) counted.parses++
  return parse(text, ...more)
}
JSON.stringify = ((value: unknown, ...more: []) => {
  const text = stringify(value, ...more) as string | undefined
  if (text !== undefined && isBody(text)) counted.writes++
  return text as string
}) as typeof JSON.stringify

process.on('SIGALRM', () => {
  console.log(`json ${++times} ${stringify(counted)}`)
  counted = { parses: 0, writes: 0 }
})
