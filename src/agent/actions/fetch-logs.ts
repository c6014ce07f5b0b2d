import type { BlobStore } from '../blob/blob-store.ts';
import { sha1OfFile } from '../blob/digest.ts';
import type { Directories } from '../directories.ts';
import { collectLogs, parseLogSelection } from '../file/collect-logs.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/**
 * `fetch_logs ["job,agent,system", filters]` -> `{blobstore_id, sha1}` of a tar.gz with the log files that
 * match a filter.
 */
export function fetchLogs(options: { readonly blobs: BlobStore; readonly directories: Directories }): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      const { blobs, directories } = options;
      const selection = parseLogSelection(stringArg(list, 0, 'log type'), list[1], directories);
      const blob = await blobs.create((path) => collectLogs(selection, path, directories));
      return { blobstore_id: blob.id, sha1: await sha1OfFile(blob.path) };
    },
  };
}
