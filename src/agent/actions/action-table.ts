import type { AgentServices } from '../services.ts';
import type { Action } from './action.ts';
import {
  addPersistentDisk,
  listDisk,
  migrateDisk,
  mountDisk,
  removePersistentDisk,
  unmountDisk,
} from './disks.ts';
import { apply, prepare } from './apply.ts';
import { bundleLogs, fetchLogs, removeFile } from './logs.ts';
import { cancelTask, getTask } from './tasks.ts';
import { compilePackageAction } from './compile-package.ts';
import { drain, start, stop } from './jobs.ts';
import { getState, info, ping } from './state.ts';
import { runErrand, runScript } from './scripts.ts';
import { ssh } from './ssh.ts';

/** Returns every method of the bus by its name. The bus rejects any other name as an `unknown message`. */
export function actionTable(services: AgentServices): ReadonlyMap<string, Action> {
  const { tasks, clock, disks, supervisor, jobStart } = services;
  return new Map([
    ['ping', ping],
    ['info', info],
    ['get_task', getTask(tasks, clock)],
    ['cancel_task', cancelTask(tasks)],
    ['get_state', getState({ ...services, now: () => clock.now() })],
    ['prepare', prepare(services)],
    ['apply', apply(services)],
    ['start', start(jobStart)],
    ['stop', stop(supervisor)],
    ['drain', drain(services)],
    ['run_script', runScript(services)],
    ['run_errand', runErrand(services)],
    ['compile_package', compilePackageAction(services)],
    ['add_persistent_disk', addPersistentDisk(disks)],
    ['remove_persistent_disk', removePersistentDisk(disks)],
    ['mount_disk', mountDisk(disks)],
    ['unmount_disk', unmountDisk(disks)],
    ['migrate_disk', migrateDisk(disks)],
    ['list_disk', listDisk(disks)],
    ['fetch_logs', fetchLogs(services)],
    ['bundle_logs', bundleLogs(services)],
    ['remove_file', removeFile(services.directories)],
    ['ssh', ssh(services)],
  ]);
}
