import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ApiAccess } from './install.ts';
import { isSystemError } from './system-error.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { openTransport } from '../../kubernetes/client/open-transport.ts';
import { RestApi } from '../../kubernetes/client/rest-api.ts';

export interface Installer {
  /** Both return a message with the result, and are idempotent. */
  readonly install: () => Promise<string>;
  readonly uninstall: () => Promise<string>;
  /** Absent: the pod has no DaemonSet. Rejects if the API does not respond. */
  readonly readDaemonSet: (() => Promise<DaemonSetState>) | undefined;
  readonly apiAccess: ApiAccess;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Aborted by SIGTERM. */
  readonly stop: AbortSignal;
}

/**
 * Milliseconds between two checks of the directories, and between two requests to an API that does not
 * respond.
 */
const pause = { recheckMs: 10_000, apiPollMs: 1000 };
/** Milliseconds of the pod's grace period that may be spent on requests. */
const apiTimeoutMs = 20_000;

/**
 * Keeps the plugin installed until the stop signal, and then removes it if the DaemonSet is being deleted. If
 * the pod ends for another reason, such as an update or a reboot, the plugin stays. The plugin is also
 * removed if the DaemonSet no longer exists when the pod starts: the previous container died before it could
 * remove the plugin.
 */
export async function runInstallLoop(installer: Installer): Promise<void> {
  const { log, clock, stop } = installer;
  let last = '';
  const report = (line: string): void => {
    if (line !== last) log(line);
    last = line;
  };
  let state = await readAndRecordState(installer, report);
  while (!stop.aborted && state !== 'removed') {
    report(await installNow(installer));
    await clock.sleep(pause.recheckMs, stop);
    // a refusal means "removed" only after one successful read
    if (state !== 'exists' && !stop.aborted) state = await readAndRecordState(installer, report);
  }
  if (state === 'removed' || (await isRemoved(installer))) log(await installer.uninstall());
  else log('static-ip stays installed: the DaemonSet still exists');
}

/**
 * Installs, and returns errors as messages. A network that cannot be wrapped must not end this process, which
 * could then no longer remove the plugin.
 */
async function installNow({ install }: Installer): Promise<string> {
  try {
    return await install();
  } catch (error) {
    if (!isProductError(error) && !isSystemError(error)) throw error;
    return `static-ip could not be installed: ${error.message} [${error.code}]`;
  }
}

/**
 * Returns whether the DaemonSet is deleted. `kubectl delete -f` deletes its Role and ServiceAccount with it.
 * So if the API allowed the read before, to this container or to a previous one, and refuses it now, the
 * DaemonSet is deleted.
 */
async function isRemoved(installer: Installer): Promise<boolean> {
  const { clock, log, apiAccess } = installer;
  const end = clock.now() + apiTimeoutMs;
  for (;;) {
    const state = await readState(installer, log);
    if (state !== 'unknown') return state === 'removed' || (state === 'forbidden' && apiAccess.isRecorded());
    if (installer.readDaemonSet === undefined || clock.now() >= end) return false;
    await clock.sleep(pause.apiPollMs);
  }
}

async function readAndRecordState(
  installer: Installer,
  report: (line: string) => void,
): Promise<DaemonSetState | 'unknown'> {
  const state = await readState(installer, report);
  if (state === 'exists') await installer.apiAccess.record();
  return state;
}

async function readState(
  { readDaemonSet }: Installer,
  report: (line: string) => void,
): Promise<DaemonSetState | 'unknown'> {
  if (readDaemonSet === undefined) return 'unknown';
  try {
    const state = await readDaemonSet();
    if (state === 'forbidden')
      report('the API does not let this pod read its DaemonSet; check that the Role exists');
    return state;
  } catch (error) {
    if (!isProductError(error) && !isApiError(error)) throw error;
    report(`could not check whether the DaemonSet exists: ${error.message}`);
    return 'unknown';
  }
}

const daemonSets: Resource = { group: 'apps', version: 'v1', plural: 'daemonsets', namespaced: true };

/** The state of the DaemonSet; `forbidden` if the API does not allow reading it. */
export type DaemonSetState = 'exists' | 'removed' | 'forbidden';

/**
 * Reads the DaemonSet once and closes the connection, which would keep the process alive. Rejects if the API
 * does not respond.
 */
export async function readDaemonSetState(access: Access, name: string): Promise<DaemonSetState> {
  const transport = await openTransport(access, { timeoutMs: 5000 });
  try {
    const { metadata } = await new RestApi({ transport }).get({
      resource: daemonSets,
      namespace: access.namespace,
      name,
    });
    return metadata.deletionTimestamp === undefined ? 'exists' : 'removed';
  } catch (error) {
    if (isApiError(error, 404)) return 'removed';
    if (isApiError(error, 401) || isApiError(error, 403)) return 'forbidden';
    throw error;
  } finally {
    transport.close();
  }
}
