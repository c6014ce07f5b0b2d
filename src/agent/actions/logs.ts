import type { BlobStore } from '../blob/blob-store.ts';
import { sha1OfFile, sha512OfFile } from '../blob/digest.ts';
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
export function fetchLogs(options: { readonly blobs: BlobStore; readonly directories: Directories }): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      const { blobs, directories } = options;
      const selection = parseLogSelection(
        argument(args, 0, 'log type').nonEmptyString(),
        args[1],
        directories,
      );
      const blob = await blobs.create((path) => collectLogs(selection, path, directories));
      return { blobstore_id: blob.id, sha1: await sha1OfFile(blob.path) };
    },
  };
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
