import { check } from './check.ts'
import { compile } from './compile.ts'
import { demo } from './demo.ts'
import { diff } from './diff.ts'
import { doctor } from './doctor.ts'
import { drain } from './drain.ts'
import { evidence } from './evidence.ts'
import { explain } from './explain.ts'
import { history } from './history.ts'
import { key } from './key.ts'
import { layers } from './layers.ts'
import { moves } from './move.ts'
import { purge } from './purge.ts'
import { rollback } from './rollback.ts'
import { runner } from './runner.ts'
import { serve } from './serve.ts'
import { status } from './status.ts'
import { degrade, freeze } from './switch.ts'
import type { Verb } from './verb.ts'

/** Every verb of the command line, in the order help lists them. */
export const verbs: readonly Verb[] = [
  ...[serve, check, compile, runner],
  ...[status, layers, explain, history, diff, evidence],
  ...[...moves, rollback, freeze, degrade, purge],
  ...[doctor, drain, key, demo],
]
