/** Longest text that is taken apart into sentences, in characters. */
const lookAtChars = 65_536

/** The sentences of a text, list items and lines apart; markers of list items are left out. Linear in the text. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  for (const line of text.slice(0, lookAtChars).split(/\r?\n/)) {
    for (const part of line.split(/(?<=[.!?;])\s+|(?<=[。！？；])/u)) {
      const sentence = part.replace(/^\s*(?:[-*•]|\d{1,3}[.)、])\s*/u, '').trim()
      if (sentence !== '') sentences.push(sentence)
    }
  }
  return sentences
}

/** A text of at most so many characters, cut at a space where one is near, with an ellipsis. */
export function shortened(text: string, maxChars: number): string {
  const characters = [...text]
  if (characters.length <= maxChars) return text
  const cut = characters.slice(0, maxChars - 1).join('')
  const space = cut.lastIndexOf(' ')
  return `${space > cut.length / 2 ? cut.slice(0, space) : cut}…`
}
