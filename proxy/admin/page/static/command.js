import { quoted } from './words.js'

/**
 * The command that does the same as the page: roll back one layer, or `all`.
 * @param {string} layer
 * @param {import('../page-snapshot.ts').PageViewer | undefined} viewer
 * @param {string} [reason]
 */
export function commandFor(layer, viewer, reason = 'WHY') {
  const what = layer === 'all' ? '--all' : layer
  const token = viewer?.verified ? ' --token-file FILE' : ''
  return `foldgate rollback ${what} --reason ${quoted(reason)} --admin ${location.origin}${token}`
}
