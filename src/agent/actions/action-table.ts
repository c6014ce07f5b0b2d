import type { AgentServices } from '../services.ts';
import type { Action } from './action.ts';
import { addPersistentDisk } from './add-persistent-disk.ts';
import { apply } from './apply.ts';
import { bundleLogs } from './bundle-logs.ts';
import { cancelTask } from './cancel-task.ts';
import { compilePackageAction } from './compile-package.ts';
import { drain } from './drain.ts';
import { fetchLogs } from './fetch-logs.ts';
import { getState } from './get-state.ts';
import { getTask } from './get-task.ts';
import { info } from './info.ts';
import { listDisk } from './list-disk.ts';
import { migrateDisk } from './migrate-disk.ts';
import { mountDisk } from './mount-disk.ts';
import { ping } from './ping.ts';
import { prepare } from './prepare.ts';
import { removePersistentDisk } from './remove-persistent-disk.ts';
import { removeFile } from './remove-file.ts';
import { runErrand } from './run-errand.ts';
import { runScript } from './run-script.ts';
import { ssh } from './ssh.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';
import { unmountDisk } from './unmount-disk.ts';

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
