import type { Blobs } from '../blob/blobs.ts';
import { multiDigestOfFile, sha512OfFile } from '../blob/digest.ts';
import { requireSignedUrl } from '../blob/signed-url.ts';
import type { Directories } from '../directories.ts';
import { collectLogs, parseLogSelection } from '../file/collect-logs.ts';
import { type Action, argument } from './action.ts';
import { randomUUID } from 'node:crypto';
import { chown, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import type { SshAccount, SshAccounts } from '../user/ssh-accounts.ts';

/**
 * `fetch_logs ["job,agent,system", filters]` -> `{blobstore_id, sha1}` of a tar.gz with the log files that
 * match a filter.
 */
export function fetchLogs({ blobs, directories }: FetchLogsOptions): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      const selection = parseLogSelection(
        argument(args, 0, 'log type').nonEmptyString(),
        args[1],
        directories,
      );
      const { id, sha1 } = await blobs.store((path) => collectLogs(selection, path, directories));
      return { blobstore_id: id, sha1 };
    },
  };
}

/**
 * `fetch_logs_with_signed_url [{signed_url, log_type, filters, blobstore_headers}]` -> `{sha1}`, with SHA-1
 * and SHA-512.
 */
export function fetchLogsWithSignedUrl({ blobs, directories }: FetchLogsOptions): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      const field = argument(args, 0, 'request');
      const type = field.get('log_type').nonEmptyString();
      const selection = parseLogSelection(type, field.get('filters').value, directories);
      const target = requireSignedUrl(field.get('signed_url'), field.get('blobstore_headers'));
      const sha1 = await blobs.upload(
        target,
        (path) => collectLogs(selection, path, directories),
        multiDigestOfFile,
      );
      return { sha1 };
    },
  };
}

export interface FetchLogsOptions {
  readonly blobs: Blobs;
  readonly directories: Directories;
}

/**
 * `bundle_logs [{owning_user, log_type, filters}]` -> `{logs_tar_path, sha512}`: writes a tar.gz in the VM.
 * The account of a `bosh ssh` session copies it, and remove_file removes it (bosh-agent:
 * agent/action/bundle_logs.go). Only that account can read the file, or only root if there is no owning_user.
 */
export function bundleLogs(options: {
  readonly directories: Directories;
  readonly sshAccounts: SshAccounts;
}): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const { directories, sshAccounts } = options;
      const request = argument(args, 0, 'request');
      const type = request.get('log_type').nonEmptyString();
      const selection = parseLogSelection(type, request.get('filters').value, directories);
      const owner = await lookUpOwner(request.get('owning_user'), sshAccounts);
      const path = join(directories.temporary, `bundled-logs-${randomUUID()}.tgz`);
      try {
        await collectLogs(selection, path, directories);
        const sha512 = await sha512OfFile(path);
        if (owner !== undefined) await chown(path, owner.userId, owner.groupId);
        return { logs_tar_path: path, sha512 };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
  };
}

/** Returns true for a path that {@link bundleLogs} creates. */
function isBundlePath(path: string, { temporary }: Directories): boolean {
  const prefix = join(temporary, 'bundled-logs-');
  return (
    path.startsWith(prefix) &&
    /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tgz$/.test(path.slice(prefix.length))
  );
}

/** Removes the files that {@link bundleLogs} created for an account and that have not been removed. */
export async function removeBundlesOf({ userId }: SshAccount, directories: Directories): Promise<void> {
  for (const name of await readdir(directories.temporary)) {
    const path = join(directories.temporary, name);
    if (isBundlePath(path, directories) && (await lstat(path)).uid === userId)
      await rm(path, { force: true });
  }
}

async function lookUpOwner(field: Field, sshAccounts: SshAccounts): Promise<SshAccount | undefined> {
  const user = field.optional()?.string() ?? '';
  if (user === '') return undefined;
  const account = await sshAccounts.find(user);
  if (account === undefined) throw field.error('must be an account that ssh setup created');
  return account;
}

/**
 * `remove_file [path]` -> path, even if the file does not exist. Upstream's agent
 * (agent/action/remove_file.go) removes any file. This one removes only files that bundle_logs created; their
 * directory belongs to root.
 */
export function removeFile(directories: Directories): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const path = argument(args, 0, 'path').nonEmptyString();
      if (!isBundlePath(path, directories)) {
        throw new ProductError(
          'AGENT_ARGUMENT_INVALID',
          'remove_file removes only files that bundle_logs created',
        );
      }
      await rm(path, { force: true });
      return path;
    },
  };
}
