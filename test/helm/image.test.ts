import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { createTempDir } from '../support/temp-dir.ts'
import { root } from './chart.ts'

const dockerfile = readFileSync(`${root}/Dockerfile`, 'utf8').replaceAll('\\\n', '')
const lines = dockerfile.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
const valuesOf = (instruction: string) =>
  lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))

test('the image runs the Node that the tests run', () => {
  const { packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8'))
  expect(valuesOf('ARG')[0]).toBe(`NODE_IMAGE=node:${packages['node_modules/node'].version}-slim`)
  expect(valuesOf('FROM')).toEqual([
    '${NODE_IMAGE} AS build',
    '${NODE_IMAGE} AS modules',
    '${NODE_IMAGE} AS content',
    'content AS runner',
    'content AS gateway',
  ])
})

test('Node is PID 1, as a user with a number and no rights', () => {
  expect(valuesOf('USER')).toEqual(['65532:65532'])
  for (const entry of valuesOf('ENTRYPOINT')) expect(JSON.parse(entry)[0]).toBe('node')
  expect(lines.indexOf('USER 65532:65532')).toBeLessThan(lines.findIndex((line) => line.startsWith('ENTRYPOINT')))
})

test('what it starts is what a build makes', () => {
  const { compilerOptions, include } = JSON.parse(readFileSync(`${root}/tsconfig.build.json`, 'utf8'))
  expect(compilerOptions.outDir).toBe('dist')
  for (const entry of valuesOf('ENTRYPOINT')) {
    const source = JSON.parse(entry)[1].replace('/app/dist/', '').replace(/js$/, 'ts')
    expect(readFileSync(`${root}/${source}`, 'utf8')).not.toBe('')
    expect(include).toContain(source.split('/')[0])
  }
})

test('everything that is copied is let through, and nothing else is', () => {
  const through = readFileSync(`${root}/.dockerignore`, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  const copied = valuesOf('COPY')
    .filter((line) => !line.startsWith('--from'))
    .flatMap((line) => line.split(' ').slice(0, -1))
  expect(through.toSorted()).toEqual([...new Set(copied)].toSorted())
})

test('an SBOM of what runs goes along, and lists every library of ours', async () => {
  const made = /npm ci --omit=dev.*&& (npm pkg delete .*) && (npm sbom .*) > sbom\.spdx\.json/.exec(dockerfile)
  expect(lines).toContain('COPY --from=modules /app/sbom.spdx.json sbom.spdx.json')
  await using dir = createTempDir()
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(`${root}/${name}`, dir.file(name))
  const run = (line: string) =>
    execFileSync('npm', line.split(' ').slice(1), { cwd: dirname(dir.file('x')), encoding: 'utf8' })
  run(made?.[1] ?? '')
  const { packages } = JSON.parse(run(`${made?.[2]} --package-lock-only`))
  const names = new Set(packages.map(({ name }: { name: string }) => name.replace(/^http-proxy-3$/, 'http-proxy')))
  const { dependencies } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
  expect(Object.keys(dependencies).filter((name) => !names.has(name))).toEqual([])
})
