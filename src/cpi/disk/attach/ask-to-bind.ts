import { isProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { mountContainer } from '../../own-containers.ts';
import { diskCidOf } from './attachments.ts';
import { bindExit, bindScript } from './bind-script.ts';
import { untilReadyIn } from './until-ready-script.ts';
import { mountFailedExit } from './volume-functions.ts';

const execTimeoutMs = 40_000;

export type BindOutcome =
  | { readonly kind: 'bound' }
  /** A detach_disk has released the disk. This attachment pod does not mount it any more. */
  | { readonly kind: 'released' }
  /** The script reports the reason. */
  | { readonly kind: 'cannot'; readonly reason: string }
  /** The container is starting, or the kubelet of its node is. */
  | { readonly kind: 'no answer'; readonly words: string };

/**
 * Runs the bind script in an attachment pod. A mount container mounts the disk only after an attach_disk has
 * marked the claim and has run this script. `mark` is the mark on the claim. Idempotent.
 */
export async function runBindScript(cloud: CallContext, attachment: Pod, mark: string): Promise<BindOutcome> {
  const { name = '', uid = '', annotations = {} } = attachment.metadata;
  const vmUid = annotations[annotation.vmUid] ?? '';
  try {
    const { exitCode, stderr } = await cloud.exec({
      namespace: diskNamespaceOf(cloud),
      pod: name,
      container: mountContainer,
      command: [
        '/bin/sh',
        '-c',
        untilReadyIn(attachment) + bindScript,
        ...['bind', diskCidOf(attachment), vmUid, uid, mark],
      ],
      deadlineMs: execTimeoutMs,
    });
    if (exitCode === 0) return { kind: 'bound' };
    if (exitCode === bindExit.released) return { kind: 'released' };
    const words = stderr.trim();
    return exitCode === mountFailedExit
      ? { kind: 'cannot', reason: words }
      : { kind: 'no answer', words: `its holder ended with exit code ${exitCode}: ${words}` };
  } catch (error) {
    if (isApiError(error, 403) || !(isApiError(error) || isProductError(error))) throw error;
    return { kind: 'no answer', words: error.message };
  }
}
