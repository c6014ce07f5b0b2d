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
import type { Bus } from '../mbus/bus.ts';
import { uploadBlob } from './blobs.ts';
import { syncDns, syncDnsWithSignedUrl } from './dns.ts';
import { bundleLogs, fetchLogs, fetchLogsWithSignedUrl, removeFile } from './logs.ts';
import { deleteArpEntries } from './network.ts';
import { updateSettings } from './update-settings.ts';
import { cancelTask, getTask } from './tasks.ts';
import { compilePackageAction, compilePackageWithSignedUrl } from './compile-package.ts';
import { drain, shutdown, start, stop } from './jobs.ts';
import { getState, info, ping } from './state.ts';
import { runErrand, runScript } from './scripts.ts';
import { ssh } from './ssh.ts';

/** What the actions do to the agent itself. */
export interface AgentControl {
  readonly exchangeCertificate: Bus['exchangeCertificate'];
  readonly publish: Bus['publish'];
  /** Stops jobs and bus for good. */
  readonly shutDown: () => Promise<void>;
}

/** Returns every method of the bus by its name. The bus rejects any other name as an `unknown message`. */
export function actionTable(services: AgentServices, control: AgentControl): ReadonlyMap<string, Action> {
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
    ['drain', drain({ ...services, publish: control.publish })],
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
    ['update_settings', updateSettings({ ...services, ...control })],
    ['shutdown', shutdown(control)],
    ['upload_blob', uploadBlob(services.blobs)],
    ['sync_dns', syncDns(services.dnsRecords)],
    ['sync_dns_with_signed_url', syncDnsWithSignedUrl(services.dnsRecords)],
    ['fetch_logs_with_signed_url', fetchLogsWithSignedUrl(services)],
    ['compile_package_with_signed_url', compilePackageWithSignedUrl(services)],
    ['delete_arp_entries', deleteArpEntries(services)],
  ]);
}
