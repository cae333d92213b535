import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { gatewayJsonSchema } from '../config/schema.ts'
import { layers } from '../plugins/index.ts'
import { abiFiles } from './abi.ts'
import { dashboardFiles } from './grafana/dashboard-files.ts'
import { pageWithMetrics } from './grafana/metric-page.ts'
import { chartFiles } from './helm/chart-files.ts'

const root = resolve(import.meta.dirname, '..')

/** Every generated file: where it stands, and what it should say. */
const generated: Readonly<Record<string, () => string>> = {
  'config/gateway.schema.json': () => `${JSON.stringify(gatewayJsonSchema(layers), null, 2)}\n`,
  ...abiFiles,
  ...chartFiles,
  ...dashboardFiles,
  'grafana/README.md': () => pageWithMetrics(readOrEmpty(join(root, 'grafana/README.md'))),
}

const checking = process.argv.includes('--check')
let stale = 0
for (const [path, make] of Object.entries(generated)) {
  const file = join(root, path)
  const wanted = make()
  if (readOrEmpty(file) === wanted) continue
  stale++
  if (checking) console.error(`${path} is stale: npm run generate`)
  else {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, wanted)
    console.error(`${path} written`)
  }
}
if (checking && stale > 0) process.exit(1)

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
