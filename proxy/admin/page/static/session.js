/**
 * What this tab knows of who looks: the token, and the name of somebody without one. Kept for as long as the tab, and nowhere else.
 */
const tokenKey = 'foldgate-token'
const nameKey = 'foldgate-name'

export const session = {
  /** @returns {string | null} */
  get token() {
    return sessionStorage.getItem(tokenKey)
  },
  set token(value) {
    if (value) sessionStorage.setItem(tokenKey, value)
    else sessionStorage.removeItem(tokenKey)
  },
  /** What somebody on this machine calls themselves, where no token says who it is. */
  get name() {
    return sessionStorage.getItem(nameKey) ?? ''
  },
  set name(value) {
    sessionStorage.setItem(nameKey, value)
  },
}

/**
 * Asks the admin port. What it says, or an error in its words.
 * @param {string} path
 * @param {object} [change] a change, as its body
 * @returns {Promise<unknown>}
 */
export async function ask(path, change) {
  const token = session.token
  const headers = {
    ...(token ? { authorization: `Bearer ${token}` } : session.name ? { 'x-foldgate-actor': session.name } : {}),
    ...(change ? { 'content-type': 'application/json' } : {}),
  }
  const answer = await fetch(new URL(path, document.baseURI), {
    method: change ? 'POST' : 'GET',
    headers,
    cache: 'no-store',
    ...(change ? { body: JSON.stringify(change) } : {}),
  }).catch(() => {
    throw new TypeError('the gateway does not answer')
  })
  const said = await answer.json().catch(() => ({}))
  if (!answer.ok) throw new TypeError(said.detail ?? `the gateway answered ${answer.status}`)
  return said
}
