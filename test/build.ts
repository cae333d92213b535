import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * `npm run build`: the sources as JavaScript in `dist/`, for the published package and for production, where nothing has to be
 * stripped at start.
 */
const root = resolve(import.meta.dirname, '..')
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync('tsc', ['--project', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
cpSync(join(root, 'config/presets'), join(dist, 'config/presets'), { recursive: true })
cpSync(join(root, 'native-runner/engines/native-lock'), join(dist, 'native-runner/engines/native-lock'), {
  recursive: true,
})
// The on-call page: what a browser is sent is no TypeScript, and the runbooks that it shows.
cpSync(join(root, 'proxy/admin/page/static'), join(dist, 'proxy/admin/page/static'), { recursive: true })
const runbooks = join(root, 'grafana/runbooks')
if (existsSync(runbooks)) cpSync(runbooks, join(dist, 'grafana/runbooks'), { recursive: true })
chmodSync(join(dist, 'proxy/cli/foldgate.js'), 0o755)
