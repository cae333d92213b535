import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments, stringify } from 'yaml'
import { createTempDir } from '../support/temp-dir.ts'

/** Where the project begins. */
export const root = resolve(import.meta.dirname, '../..')

/** The chart's folder. */
export const chart: string = join(root, 'helm/foldgate')

/** Whether `helm` is on the PATH; says once that tests are skipped where it is not, and lets them fail with TEST_TOOLS_REQUIRED. */
export const helmAvailable: boolean = isThere('helm', ['version'])

/** Whether `kubectl` is, which has kustomize in it. */
export const kubectlAvailable: boolean = isThere('kubectl', ['version', '--client'])

/** Whether `kubernetes-validate` (PyPI) is. */
export const validatorAvailable: boolean = isThere('kubernetes-validate', ['--version'])

function isThere(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    if (process.env['TEST_TOOLS_REQUIRED']) return true
    console.warn(`skipped: no ${command} on the PATH; .ci/run shows how to install it`)
    return false
  }
}

const run = promisify(execFile)

/** Runs a command in the project's folder; its output, or an error with what it said. */
export async function outputOf(command: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(command, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

/** A Kubernetes object as it was rendered. */
export interface Rendered {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly [key: string]: any }
  readonly [key: string]: any
}

/** The objects of a YAML stream. Throws what is no YAML. */
export function objectsFromText(text: string): Rendered[] {
  const documents = parseAllDocuments(text)
  if (!Array.isArray(documents)) return []
  return documents.flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0]
    const value = document.toJS({ maxAliasCount: 100 }) as Rendered | null
    return value === null ? [] : [value]
  })
}

/** Renders the chart as the release `r` in the namespace `llm`, with all kinds of the Prometheus operator there. */
export async function renderText(values: unknown, ...args: string[]): Promise<string> {
  await using dir = createTempDir()
  writeFileSync(dir.file('values.yaml'), stringify(values))
  const apis = ['--api-versions', 'monitoring.coreos.com/v1', '--kube-version', '1.33.0']
  return await outputOf('helm', 'template', 'r', chart, '-n', 'llm', ...apis, '-f', dir.file('values.yaml'), ...args)
}

/** {@link renderText} as objects. */
export async function render(values: unknown, ...args: string[]): Promise<Rendered[]> {
  return objectsFromText(await renderText(values, ...args))
}

/** The one object of a kind whose name is the release's with an ending. */
export function only(objects: readonly Rendered[], kind: string, suffix = ''): Rendered {
  const found = objects.filter((each) => each.kind === kind && each.metadata.name === `r-foldgate${suffix}`)
  if (found.length !== 1) throw new Error(`${found.length} of kind ${kind} are called r-foldgate${suffix}`)
  return found[0]!
}

/** Every container of a pod template, those that come first too. */
export function containersOf(object: Rendered): any[] {
  const pod = object.kind === 'Pod' ? object['spec'] : object['spec'].template.spec
  return [...(pod.initContainers ?? []), ...pod.containers]
}

/** The container of that name. */
export function container(object: Rendered, name: string): any {
  return containersOf(object).find((each) => each.name === name)
}
