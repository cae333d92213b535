/** The client certificate of a connection, as far as it names somebody. */
export interface PeerCertificate {
  /** Common name of the subject; empty when it has none. */
  readonly subject: string
  /** Subject alternative names with their kind, such as `DNS:edge.internal` or `URI:spiffe://example.org/edge` (RFC 5280 §4.2.1.6). */
  readonly san: readonly string[]
}

declare module '../call.ts' {
  interface Facts {
    /**
     * Address of the socket's other end, whatever `Forwarded` headers say. Written by the server; where it is absent, `client_ip`
     * stands for it.
     */
    peer: string
    /**
     * The client certificate, only if it was verified against the listener's CA. Written by the server when `listen.tls` asks for
     * client certificates.
     */
    peerCertificate: PeerCertificate
  }
}
