import { type Case, mustBe, mustHold, mustRefuse, question } from './case.ts'
import { needed } from './finding.ts'
import { paths, type Subject } from './subject.ts'

const see = 'who-may-ask'

const plainly = (runner: Subject, words: string, authorization?: string) =>
  runner.ask(paths.chat, {
    headers: { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) },
    body: JSON.stringify(question(runner)),
    words,
  })

/** Who may ask without a context. */
export const plainCases: readonly Case[] = [
  {
    title: 'a call with neither a context nor the API key is refused',
    see,
    async run(runner) {
      mustRefuse(await plainly(runner, 'without context and key'), 'missing')
    },
  },
  {
    title: 'a call with a wrong API key is refused',
    see,
    async run(runner) {
      mustRefuse(await plainly(runner, 'with a wrong API key', `Bearer ${'wrong'.repeat(8)}`), 'missing')
    },
  },
  {
    title: 'a call with the API key is served without a context, and not acknowledged',
    see,
    async run(runner) {
      const key = needed(runner.apiKey, 'no --api-key-file was given')
      needed(runner.model, 'the runner serves no model')
      const said = await plainly(runner, 'with the API key', `Bearer ${key}`)
      mustBe(said, 200, 'the holder of the API key is served plainly')
      const { 'x-layer-ack': text } = said.headers
      mustHold(text === undefined, said, {
        came: `x-layer-ack: ${text}`,
        must: 'nothing was named, so nothing is acknowledged',
      })
    },
  },
  {
    title: 'a 401 says how to authenticate',
    see,
    async run(runner) {
      const said = await plainly(runner, 'without context and key')
      mustBe(said, 401, 'a call without context and key is refused')
      const must = 'a 401 has WWW-Authenticate (RFC 9110 §11.6.1)'
      mustHold(said.headers['www-authenticate'] !== undefined, said, { came: '401 without it', must })
    },
  },
]
