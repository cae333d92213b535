/** Follows a Markdown text and knows whether its end stands in code. */
export interface CodeTracker {
  /** Takes more of the text. */
  see(text: string): void
  /** The end stands in a fenced block. */
  readonly fenced: boolean
  /** How many backticks opened the code span the end stands in; 0 for none. */
  readonly span: number
  /** What looked like a code span was none. */
  leaveSpan(): void
}

interface Fence {
  readonly mark: string
  readonly length: number
  /** Still on the line that opens it. */
  opening: boolean
}

const noRun = { mark: '', length: 0, indent: -1 }

/** Makes a {@link CodeTracker} (CommonMark §4.5 fenced code blocks, §6.1 code spans, which are taken to end with their line). */
export function createCodeTracker(): CodeTracker {
  let fence: Fence | undefined
  let span = 0
  /** Columns of white space since the line began; -1 after anything else. */
  let indent = 0
  let run = noRun
  const endRun = (): void => {
    const { mark, length, indent: before } = run
    if (length === 0) return
    run = noRun
    const isFence = length >= 3 && before >= 0 && before <= 3
    if (fence && !fence.opening) {
      if (isFence && mark === fence.mark && length >= fence.length) fence = undefined
      return
    }
    // An info string holds no backticks: what opened was a span.
    if (fence && mark === '`' && fence.mark === '`') {
      span = fence.length
      fence = undefined
    }
    if (isFence && !fence && span === 0) fence = { mark, length, opening: true }
    else if (mark === '`' && !fence) span = span === 0 ? length : span === length ? 0 : span
  }
  const seeMark = (mark: string): void => {
    if (run.mark !== mark) endRun()
    run = run.length > 0 ? { ...run, length: run.length + 1 } : { mark, length: 1, indent }
    indent = -1
  }
  const seeLineEnd = (): void => {
    endRun()
    span = 0
    indent = 0
    if (fence) fence.opening = false
  }
  return {
    see(text) {
      for (const [part] of text.matchAll(/[`~\n]|[^`~\n]+/g)) {
        if (part === '\n') seeLineEnd()
        else if (part === '`' || part === '~') seeMark(part)
        else {
          endRun()
          if (indent >= 0) indent = /^[ \t]*$/.test(part) ? indent + part.length : -1
        }
      }
    },
    get fenced() {
      endRun()
      return fence !== undefined
    },
    get span() {
      endRun()
      return span
    },
    leaveSpan() {
      span = 0
    },
  }
}
