import { type Fault, GatewayError, gatewayError } from '../errors.ts'
import { sayFault } from '../schema.ts'

/** What is wrong with a configuration, gathered so that all of it is said at once. */
export interface FaultList {
  readonly found: readonly Fault[]
  add(path: string, message: string): void
  /** What `make` gives, or undefined when it throws a `GatewayError`, whose message becomes a fault at `path`. */
  attempt<T>(path: string, make: () => T): T | undefined
  /** Throws `config_invalid` with every fault; nothing when there is none. */
  raise(): void
}

/** Makes an empty {@link FaultList}. */
export function createFaultList(): FaultList {
  const found: Fault[] = []
  return {
    found,
    add: (path, message) => void found.push({ path, message }),
    attempt(path, make) {
      try {
        return make()
      } catch (reason) {
        if (!(reason instanceof GatewayError)) throw reason
        found.push({ path, message: reason.message })
        return undefined
      }
    },
    raise() {
      const [first] = found
      if (first) throw gatewayError('config_invalid', sayFault(first), { faults: found, field: first.path })
    },
  }
}
