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
  /** The server that keeps a key, over the very connection that writes to it go through, as `WAIT` needs it. */
  keeperOf(key: string): Promise<Sender>
  /** Hears what is published on a channel from now on. The connection is good for nothing else afterwards. */
  listen(channel: string, heard: () => void): Promise<void>
  /** Closes it at once; commands under way fail. */
  drop(): void
}
