#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { createProcessIo } from './process-io.ts'
import { verbs } from './verbs.ts'

process.exitCode = await runCommandLine(process.argv.slice(2), verbs, createProcessIo())
