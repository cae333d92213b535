import type { StatusView } from '../operations.ts'
import type { ChangeView } from '../stage-view.ts'
import type { PageChange } from './page-snapshot.ts'

/** As many as anybody reads on one screen. */
const mostChanges = 12

/** What has changed, latest first: layers that moved, the last reload, and the start of the process. */
export function pageChangesFrom(
  history: readonly ChangeView[],
  { lastReload, startedAt, version }: Pick<StatusView, 'lastReload' | 'startedAt' | 'version'>,
): PageChange[] {
  const moves = history.map((change): PageChange => {
    const { at, layer, from, to, actor, reason } = change
    return { at, kind: to.startsWith('rolled-back') ? 'back' : 'moved', what: layer, from, to, actor, reason }
  })
  const start: PageChange = {
    ...{ at: startedAt, kind: 'start', what: 'gateway', from: '', to: `version ${version}` },
    ...{ actor: 'start', reason: 'this process began' },
  }
  const reload = lastReload.by === 'start' ? [] : [reloadFrom(lastReload)]
  return [...moves, start, ...reload].toSorted((a, b) => b.at - a.at).slice(0, mostChanges)
}

function reloadFrom({ ok, changed, at, by, faults, digest }: StatusView['lastReload']): PageChange {
  const [fault] = faults
  const why = fault
    ? `${fault.path ? `${fault.path}: ` : ''}${fault.message}`
    : 'the configuration that was there stays'
  const done = changed ? 'the whole of it is in use' : 'nothing in it was new'
  return {
    ...{ at, kind: ok ? 'reload' : 'refused', what: 'configuration', from: '', actor: by },
    to: ok ? digest.slice(0, 12) : 'refused',
    reason: ok ? done : why,
  }
}
