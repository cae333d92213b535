import { createHash, timingSafeEqual } from 'node:crypto'
import { refusal } from './refusal.ts'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * Checks `Authorization: Bearer` values against one key, in time that does not depend on how much of it was right.
 * The check throws `invalid_api_key`. Without a key every value passes.
 */
export function createKeyCheck(key: string | undefined): (authorization: string | undefined) => void {
  if (key === undefined) return () => undefined
  const expected = digest(key)
  return (authorization) => {
    const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (given === undefined)
      throw refusal('invalid_api_key', 'the authorization header must be "Bearer" and this runner\'s key')
    if (!timingSafeEqual(digest(given), expected)) throw refusal('invalid_api_key', "the api key is not the runner's")
  }
}
