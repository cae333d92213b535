import { readFileSync } from 'node:fs'

/** The product's version, from `package.json`, which lies one level above the sources and two above the built files. */
export const version: string = readVersion()

function readVersion(): string {
  for (const place of ['../package.json', '../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as Record<
        string,
        string
      >
      if (name === 'foldgate' && version) return version
    } catch {
      // Looked for one level further up.
    }
  }
  return '0.0.0'
}

/** The commit it was built from, where the build says (`FOLDGATE_COMMIT`); `unknown` else. */
export const commit: string = process.env['FOLDGATE_COMMIT'] ?? 'unknown'
