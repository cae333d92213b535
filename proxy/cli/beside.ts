/** The URL of a module given relative to this folder, without its extension: `.ts` in the sources, `.js` in the built files. */
export function besideFile(path: string): string {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  return new URL(`${path}${extension}`, import.meta.url).href
}
