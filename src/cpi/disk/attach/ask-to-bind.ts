import { isProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { holderContainer } from '../../own-containers.ts';
import { diskCidOf } from './attachments.ts';
import { bindScript, bindWords } from './bind-script.ts';
import { untilReadyIn } from './until-ready-script.ts';
import { cannotExit } from './volume-functions.ts';

const deadlineMs = 40_000;

export type BindOutcome =
  /** `isNew`: the holder had not mounted it, or it was released since. */
  | { readonly kind: 'bound'; readonly isNew: boolean }
  /** The script says why. */
  | { readonly kind: 'cannot'; readonly words: string }
  /** The container is starting, or its node's kubelet is. */
  | { readonly kind: 'no answer'; readonly words: string };

/**
 * Has the holder of an attachment see to it that the disk is in the VM: a holder that runs may not have mounted it yet, and a
 * detach that was killed between release and deletion leaves one that holds nothing. Idempotent.
 */
export async function askToBind(cloud: Cloud, attachment: Pod): Promise<BindOutcome> {
  const { name = '', uid = '', annotations = {} } = attachment.metadata;
  const vmUid = annotations[annotation.vmUid] ?? '';
  try {
    const { exitCode, stdout, stderr } = await cloud.exec({
      namespace: diskNamespaceOf(cloud),
      pod: name,
      container: holderContainer,
      command: [
        '/bin/sh',
        '-c',
        untilReadyIn(attachment) + bindScript,
        ...['bind', diskCidOf(attachment), vmUid, uid],
      ],
      deadlineMs,
    });
    if (exitCode === 0) return { kind: 'bound', isNew: stdout.trim() === bindWords.mounted };
    const words = stderr.trim();
    return exitCode === cannotExit
      ? { kind: 'cannot', words }
      : { kind: 'no answer', words: `its holder ended with exit code ${exitCode}: ${words}` };
  } catch (error) {
    if (isApiError(error, 403) || !(isApiError(error) || isProductError(error))) throw error;
    return { kind: 'no answer', words: error.message };
  }
}
