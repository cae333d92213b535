import { readFileSync } from 'node:fs'

/** The product's version, from `package.json`, which lies one level above the sources and two above the built files. */
export const version: string = readVersion()

function readVersion(): string {
  for (const place of ['../package.json', '../../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as Record<string, string>
      if (found['name'] === 'foldgate' && found['version']) return found['version']
    } catch {
      // Looked for one level further up.
    }
  }
  return '0.0.0'
}
