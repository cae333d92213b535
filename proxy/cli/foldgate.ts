#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Whoever is on call waits for every command: what was compiled once is read back the next time. Where nothing can be written, nothing is kept.
enableCompileCache()
const { runCommandLine } = await import('./command-line.ts')
const { createProcessIo } = await import('./process-io.ts')
const { verbs } = await import('./verbs.ts')

process.exitCode = await runCommandLine(process.argv.slice(2), verbs, createProcessIo())
