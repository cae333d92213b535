/** Says how a transfer goes: a bar on a terminal, else a line now and then. */
export interface Progress {
  /** Bytes so far. */
  at(bytes: number): void
  done(): void
}

/** Where progress is shown. */
export interface Screen {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

function bar(share: number): string {
  const full = Math.round(share * 30)
  return `${'█'.repeat(full)}${'░'.repeat(30 - full)} ${Math.round(share * 100)} %`
}

/** Progress of something of `total` bytes (undefined: unknown), shown ten times a second on a terminal, else every ten seconds. */
export function createProgress(label: string, total: number | undefined, screen: Screen = process.stderr): Progress {
  let shownAt = performance.now() - 60_000
  let last = 0
  const text = (bytes: number): string => {
    const size = total === undefined ? megabytes(bytes) : `${megabytes(bytes)} of ${megabytes(total)}`
    return screen.isTTY && total ? `${label} ${bar(Math.min(1, bytes / total))} ${size}` : `${label}: ${size}`
  }
  const show = (bytes: number): void => {
    shownAt = performance.now()
    screen.write(screen.isTTY ? `\r${text(bytes)}\u{1b}[K` : `${text(bytes)}\n`)
  }
  return {
    at(bytes) {
      last = bytes
      if (performance.now() - shownAt >= (screen.isTTY ? 100 : 10_000)) show(bytes)
    },
    done() {
      show(last)
      if (screen.isTTY) screen.write('\n')
    },
  }
}
