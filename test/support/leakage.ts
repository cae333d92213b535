/** What the rig saw left behind since the last `take`. */
export const leakage = createLeakage()

function createLeakage() {
  let seen: string[] = []
  return {
    /** Notes one thing that was left behind. */
    add(what: string) {
      seen.push(what)
    },
    /** Everything noted, which is forgotten with it. */
    take(): readonly string[] {
      const taken = seen
      seen = []
      return taken
    },
  }
}
