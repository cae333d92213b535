import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where what a runner fetches is kept: `FOLDGATE_CACHE`, else `~/.cache/foldgate`. Never inside the project. */
export function defaultCacheFolder(): string {
  return process.env['FOLDGATE_CACHE'] || join(homedir(), '.cache', 'foldgate')
}
