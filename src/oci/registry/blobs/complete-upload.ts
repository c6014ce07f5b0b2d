import { ProductError } from '../../../errors/product-error.ts';
import { ConnectionFailure } from '../http/registry-transport.ts';
import type { RegistryAnswer } from '../http/registry-transport.ts';
import { isPassing } from '../http/retry-delay.ts';
import { setbackOf } from '../http/retry-while-passing.ts';
import type { RegistryClient } from '../registry-client.ts';
import { errorCodes } from '../registry-error.ts';
import type { UploadOutcome } from './upload.ts';

/**
 * Returns the outcome of an upload from the response to its last request. Throws an error that no retry would
 * change.
 */
export function completeUpload(
  client: RegistryClient,
  answer: RegistryAnswer | ConnectionFailure,
  digest: string,
): UploadOutcome {
  const what = `upload of ${digest}`;
  if (answer instanceof ConnectionFailure) {
    const error = client.unreachable(answer, what, 1);
    if (answer.isFinal) throw error;
    return { kind: 'lost', error, setback: setbackOf(answer) };
  }
  const stored = answer.headers['docker-content-digest'];
  if (answer.status === 201 && (stored === undefined || stored === digest)) return { kind: 'done' };
  if (answer.status === 201) throw differs(client, digest);
  if (answer.status === 400 && errorCodes(answer).includes('DIGEST_INVALID'))
    return { kind: 'lost', error: differs(client, digest), setback: setbackOf(answer) };
  const error = client.error(answer, what);
  if (isPassing(answer.status) || isUploadUnknown(answer))
    return { kind: 'lost', error, setback: setbackOf(answer) };
  throw error;
}

/**
 * True if the registry does not know the upload any more, or cannot continue it from the client's position.
 */
export const isUploadUnknown = (answer: RegistryAnswer): boolean =>
  answer.status === 404 ||
  answer.status === 416 ||
  (answer.status === 400 && errorCodes(answer).includes('BLOB_UPLOAD_INVALID'));

function differs({ host, repository }: RegistryClient, digest: string): ProductError {
  return new ProductError(
    'DIGEST_MISMATCH',
    `registry ${host}, repository ${repository}: what arrived there is not ${digest}; something on the way changes bytes`,
  );
}
