import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Clock } from '../../kubernetes/clock.ts';
import type { ApiAccess } from './allowance.ts';
import type { DaemonSetState } from './own-daemon-set.ts';
import { isSystemError } from './system-error.ts';

export interface Installer {
  /** Both resolve with what is now, in words, and may be done again. */
  readonly install: () => Promise<string>;
  readonly uninstall: () => Promise<string>;
  /** Absent: nobody's pod. Rejects where the API does not answer. */
  readonly daemonSet: (() => Promise<DaemonSetState>) | undefined;
  readonly allowed: ApiAccess;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Aborted by SIGTERM. */
  readonly stop: AbortSignal;
}

/** Milliseconds between two looks at the directories, and between two questions to an API that does not answer. */
const pause = { recheckMs: 10_000, apiPollMs: 1000 };
/** Milliseconds of the pod's grace that may pass with asking. */
const apiTimeouts = 20_000;

/**
 * Keeps the plugin in place until it is told to stop, and removes it then if the DaemonSet is being removed. A pod that ends for
 * another reason, an update or a reboot, leaves it. A DaemonSet that is gone already when the pod starts (its former container
 * died before it could remove the plugin) is removal too.
 */
export async function runInstallLoop(installer: Installer): Promise<void> {
  const { log, clock, stop } = installer;
  let last = '';
  const say = (line: string): void => {
    if (line !== last) log(line);
    last = line;
  };
  let known = await lookedUp(installer, say);
  while (!stop.aborted && known !== 'removed') {
    say(await installNow(installer));
    await clock.sleep(pause.recheckMs, stop);
    // until the API has let us look once, its refusal at the end says nothing
    if (known !== 'there' && !stop.aborted) known = await lookedUp(installer, say);
  }
  if (known === 'removed' || (await isRemoved(installer))) log(await installer.uninstall());
  else log('static-ip stays in place: the DaemonSet is still there');
}

/** A network that cannot be put behind the plugin is no reason to end: who ends cannot remove it any more. */
async function installNow({ install }: Installer): Promise<string> {
  try {
    return await install();
  } catch (error) {
    if (!isProductError(error) && !isSystemError(error)) throw error;
    return `static-ip could not be put in place: ${error.message} [${error.code}]`;
  }
}

/**
 * Deleted together with its Role and ServiceAccount, as `kubectl delete -f` does, the DaemonSet cannot be asked for any more: a
 * refusal by an API that allowed it before, to this container or to one before it, means removal.
 */
async function isRemoved(installer: Installer): Promise<boolean> {
  const { clock, log, allowed } = installer;
  const end = clock.now() + apiTimeouts;
  for (;;) {
    const state = await stateNow(installer, log);
    if (state !== 'unknown') return state === 'removed' || (state === 'refused' && allowed.isRecorded());
    if (installer.daemonSet === undefined || clock.now() >= end) return false;
    await clock.sleep(pause.apiPollMs);
  }
}

async function lookedUp(
  installer: Installer,
  say: (line: string) => void,
): Promise<DaemonSetState | 'unknown'> {
  const state = await stateNow(installer, say);
  if (state === 'there') await installer.allowed.remember();
  return state;
}

async function stateNow(
  { daemonSet }: Installer,
  say: (line: string) => void,
): Promise<DaemonSetState | 'unknown'> {
  if (daemonSet === undefined) return 'unknown';
  try {
    const state = await daemonSet();
    if (state === 'refused') say('the API does not let this pod read its DaemonSet: is the Role there?');
    return state;
  } catch (error) {
    if (!isProductError(error) && !isApiError(error)) throw error;
    say(`the API does not say whether the DaemonSet is there: ${error.message}`);
    return 'unknown';
  }
}
