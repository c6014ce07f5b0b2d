import { wholeWords } from '../../errors/redact/whole-words.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import { ifThere } from '../../kubernetes/if-there.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { podLastWords } from '../../kubernetes/pod-words.ts';
import { isPassing } from '../../kubernetes/wait.ts';
import type { Cloud } from '../cloud.ts';
import { podReference } from './find-vm.ts';

const lookMs = 5_000;
/** create-env leaves lines of more than 1 KiB out (src/deploy/process/run-process.ts). */
const longest = 800;

/**
 * Says every five seconds what the pod of a new VM waits for, when that is not what was said last, until the
 * signal aborts; after that it stays pending. What it cannot ask it does not say: the wait for the pod itself
 * tells what is wrong with the API.
 */
export async function sayWhatVmWaitsFor(cloud: Cloud, pod: Pod, signal: AbortSignal): Promise<never> {
  const { name = '' } = pod.metadata;
  let said = '';
  while (!signal.aborted) {
    await cloud.clock.sleep(lookMs, signal);
    const words = signal.aborted ? undefined : await wordsOn(cloud, name);
    // an event that came once more is nothing new
    const news = words?.replaceAll(/ \(x\d+\)/gu, '');
    if (news !== undefined && news !== said && !signal.aborted) {
      cloud.say(`waiting for VM '${name}': ${words}`);
      said = news;
    }
  }
  return new Promise<never>(() => undefined);
}

async function wordsOn(cloud: Cloud, name: string): Promise<string | undefined> {
  try {
    const pod = await ifThere(cloud.api.get<Pod>(podReference(cloud, name)));
    if (pod === undefined) return undefined;
    const words = await podLastWords(cloud.api, { namespace: cloud.namespace, name }, pod);
    return wholeWords(words.replaceAll(/\s+/gu, ' '), longest);
  } catch (error) {
    if (isPassing(error) || isApiError(error, 403)) return undefined;
    throw error;
  }
}
