/** Something that may go wrong with a rollout, and what has to come of it. */
export interface Scenario {
  readonly number: number
  readonly title: string
  readonly expected: string
  /** The files whose tests carry its number. */
  readonly tests: readonly string[]
}

const state = 'proxy/folding/state'
const rollout = 'proxy/folding/rollout'
const collect = 'proxy/folding/collect'
const rollouts = 'proxy/folding/rollouts.test.ts'
const traffic = 'test/chaos/traffic.test.ts'
const stores = 'test/chaos/stores.test.ts'
const evidence = 'test/chaos/evidence.test.ts'

/** What the suite lives through; `(scenario N)` in the title of a test says which. */
export const scenarios: readonly Scenario[] = [
  {
    number: 1,
    title: 'errors flap around what is allowed for a day',
    expected: 'no more rollbacks than the false alarms that are budgeted, and none is tried again by itself',
    tests: [traffic, 'test/chaos/long-runs.long.test.ts'],
  },
  {
    number: 2,
    title: 'a fault for 30 s every five minutes',
    expected: 'a fuse blows within the second time',
    tests: [traffic],
  },
  {
    number: 3,
    title: 'clocks are five minutes off, and are put right in one step',
    expected: 'the same verdicts; nobody is blind for the clock of another',
    tests: [stores, `${rollout}/hearing.test.ts`],
  },
  {
    number: 4,
    title: 'no traffic',
    expected: 'a hold that is said; neither passed nor failed',
    tests: [traffic],
  },
  {
    number: 5,
    title: 'a call in twenty seconds',
    expected: 'a hold; nothing is decided on too few calls; three failures in a row still take it back',
    tests: [traffic],
  },
  {
    number: 6,
    title: 'one bad gateway among several',
    expected: 'taken out after three calls, the layer goes on; with more than a fifth of the calls it is the layer',
    tests: [traffic, 'test/chaos/ejection.test.ts'],
  },
  {
    number: 7,
    title: 'one bad runner behind several gateways',
    expected: 'the same, by the name of the runner',
    tests: [traffic, 'test/chaos/ejection.test.ts'],
  },
  {
    number: 8,
    title: 'one broken client',
    expected: 'counted once a minute; nothing is taken back for it',
    tests: [traffic],
  },
  {
    number: 9,
    title: 'a controller is killed anywhere in a step',
    expected: 'the step is done or undone, whoever leads next goes on from there, no step is done twice',
    tests: [stores, 'test/chaos/killed.test.ts', 'test/chaos/killed.long.test.ts'],
  },
  {
    number: 10,
    title: 'a leader stands still for 30 s, and then writes',
    expected: 'refused by its fence',
    tests: [stores, `${state}/redis.test.ts`],
  },
  {
    number: 11,
    title: 'a failover loses the last writes, a trip among them',
    expected: 'told again within two seconds by whoever knows it',
    tests: [stores, `${state}/redis-loss.test.ts`],
  },
  {
    number: 12,
    title: 'the store is away for 30 s, for five minutes, comes back empty, or as it was before',
    expected: 'frozen for a minute, drained over the next, held when it was empty, repaired when it was old',
    tests: [stores, `${state}/redis-loss.test.ts`, `${state}/drain.test.ts`, 'test/chaos/long-runs.long.test.ts'],
  },
  {
    number: 13,
    title: 'announcements are lost',
    expected: 'looking finds the change within a second',
    tests: [`${state}/redis.test.ts`],
  },
  {
    number: 14,
    title: 'counts arrive twice, out of order, and from a replica that has started anew',
    expected: 'the same sums and the same verdict',
    tests: [`${rollout}/evidence-merge.test.ts`, `${collect}/merging.test.ts`],
  },
  {
    number: 15,
    title: 'a shadow executes tools, debits, bills, overwrites and calls out',
    expected: 'it cannot: an observer does nothing outside, and a leak that is seen blows F1',
    tests: ['test/laws/laws.test.ts', 'test/e2e/shadow-copies.test.ts', `${collect}/collector.test.ts`],
  },
  {
    number: 16,
    title: 'a shadow is slow, hangs or breaks down',
    expected: 'no caller waits; it is dropped and counted',
    tests: [
      'test/chaos/slow-shadow.test.ts',
      'test/e2e/shadow-copies.test.ts',
      'proxy/folding/shadow/comparing.test.ts',
    ],
  },
  {
    number: 17,
    title: 'a client forges the headers of the protocol',
    expected: 'removed at the edge; the runner believes signatures only',
    tests: ['test/field/f03-hop-headers.test.ts', 'native-runner/context-refusals.test.ts'],
  },
  {
    number: 18,
    title: 'the provider is down for everybody',
    expected: 'both sides are bad: a hold, no blame, no promotion',
    tests: [rollouts],
  },
  {
    number: 19,
    title: 'a leak that begins after 20,000 good calls',
    expected: 'the CUSUM finds it within about 2,000 calls',
    tests: [rollouts, 'test/chaos/long-runs.long.test.ts'],
  },
  {
    number: 20,
    title: 'streams that never end',
    expected: 'found by their age (F6), and not taken for healthy',
    tests: [traffic],
  },
  {
    number: 21,
    title: 'spans are not exported, or not sampled; or calls end without a word',
    expected: 'the first changes nothing; the second is a hold, then a rollback (F7)',
    tests: [traffic, `${collect}/span-ends.test.ts`],
  },
  {
    number: 22,
    title: 'assignment is broken: two salts, or a tier that must not move',
    expected: 'F8: a hold, as no figure can be trusted',
    tests: [traffic, 'proxy/folding/statistics/srm.test.ts'],
  },
  {
    number: 23,
    title: 'a layer fails after it has become native',
    expected: 'it is taken back all the same, for good, and each call falls back until then',
    tests: [stores, 'test/e2e/folding-fallback.test.ts'],
  },
  {
    number: 24,
    title: 'a fuse blows while the layer is on hold',
    expected: 'it acts',
    tests: [stores, `${rollout}/fuses.test.ts`],
  },
  {
    number: 25,
    title: 'constants or rules that ignore differences are changed in the middle of a rollout',
    expected: 'what is frozen counts; other constants are a hold; a rule stands in the way of promotion',
    tests: [stores, `${rollout}/decision.test.ts`],
  },
  {
    number: 26,
    title: 'a runner does a layer twice, not at all, or lies about it',
    expected: 'the gateway serves the call before its first byte; mismatches blow F9',
    tests: ['test/e2e/folding-fallback.test.ts', 'proxy/folding/processes/probing.test.ts'],
  },
  {
    number: 27,
    title: 'a rollback with half of the traffic or all of it',
    expected: 'back everywhere within two seconds, and no call fails: the half here has observed all along',
    tests: [stores, 'test/e2e/folding-moves.test.ts'],
  },
  {
    number: 28,
    title: 'prompts too long to be looked at',
    expected: 'the gap in what is covered is seen, and stands in the way',
    tests: [evidence, 'proxy/folding/diff/stream-invariants.test.ts'],
  },
  {
    number: 29,
    title: 'usage in the last chunk only, beside choices, or missing',
    expected: 'read wherever it is; what does not add up is a hard difference',
    tests: ['proxy/folding/diff/stream-invariants.test.ts', 'test/field/a09-unasked-usage.test.ts'],
  },
  {
    number: 30,
    title: 'noise that rises with the load',
    expected: 'no more false alarms than asked for, since pairs are compared',
    tests: [evidence],
  },
  {
    number: 31,
    title: 'prefix caches are cold after a template has changed',
    expected: 'the first calls are left out; what stays slow fails for it',
    tests: [traffic, `${collect}/latency.test.ts`],
  },
  {
    number: 32,
    title: 'rollouts of two layers begin at once',
    expected: 'the second is refused',
    tests: [`${state}/redis.test.ts`, `${state}/embedded.test.ts`],
  },
  {
    number: 33,
    title: 'two hostile tenants provoke fallbacks',
    expected: 'no stage moves, and nothing is held against the runner',
    tests: ['test/chaos/hostile.test.ts', `${collect}/caller-noise.test.ts`],
  },
  {
    number: 34,
    title: 'the store of the gateway is flushed, restarted or fails over',
    expected: 'shares of the token budget move by one point at most',
    tests: ['test/chaos/shares.test.ts', 'test/chaos/shares.long.test.ts'],
  },
]

/** What holds whatever happens, and the files whose tests carry its name. */
export const invariants: Readonly<Record<string, readonly string[]>> = {
  I1: ['test/chaos/invariants.test.ts', `${state}/rollouts.property.test.ts`, `${state}/peers.property.test.ts`],
  I2: ['test/chaos/invariants.test.ts'],
  I3: ['test/laws/laws.test.ts'],
  I4: ['test/chaos/whole-answers.test.ts', 'test/e2e/folding-moves.test.ts'],
  I5: ['test/chaos/invariants.test.ts', `${rollout}/evidence-merge.test.ts`],
  I6: ['test/chaos/invariants.test.ts', `${state}/rollouts.property.test.ts`],
  I7: [`${rollout}/evidence-merge.test.ts`, `${collect}/merging.test.ts`],
  I8: ['test/chaos/whole-answers.test.ts'],
}
