/** What a Redis command takes. */
export type Argument = string | number | Buffer

/** Sends commands to one server, or to whichever server of a cluster has the key. */
export interface Sender {
  /** Replies as integers, strings and arrays of them. */
  call(command: string, args: readonly Argument[]): Promise<unknown>
  /** As `call`, with bytes in place of strings. */
  bytes(command: string, args: readonly Argument[]): Promise<unknown>
}

/** An open connection to Redis. */
export interface Connection extends Sender {
  /** Every server that holds keys. */
  masters(): readonly Sender[]
  /** Closes it at once; commands under way fail. */
  drop(): void
}
