import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import { fileNotFound } from '../../bosh/archive/open-for-reading.ts';
import { writeFile } from '../../platform/write-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import { describeError } from './describe-error.ts';

test('shows code and causes of a product error, outermost first', () => {
  const error = new ProductError('DEADLINE', "Pod 'vm-1' was not Running after 10 s.", {
    cause: new Error('image pull failed', { cause: new Error('not found') }),
  });

  assert.equal(
    describeError(error),
    "Pod 'vm-1' was not Running after 10 s. [DEADLINE]\n  image pull failed\n    not found",
  );
});

test('does not show a cause that the message already quotes', () => {
  const cause = new Error('Invalid tar number.', { cause: new Error('byte 12') });

  assert.equal(
    describeError(
      new ProductError('ARCHIVE_INVALID', "'x.tgz' cannot be unpacked: Invalid tar number.", { cause }),
    ),
    "'x.tgz' cannot be unpacked: Invalid tar number. [ARCHIVE_INVALID]\n  byte 12",
  );
});

test('shows that a file is missing once, and for another file than that of the message', () => {
  const missing = (path: string): Error =>
    Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT', path });
  const shown = (message: string, cause: Error): string =>
    describeError(new ProductError('FILE_NOT_FOUND', message, { cause }));

  assert.equal(
    shown("There is no manifest '/m.yml'", missing('/m.yml')),
    "There is no manifest '/m.yml' [FILE_NOT_FOUND]",
  );
  const unread = fileNotFound('final.yml', missing('final.yml'));
  assert.equal(describeError(unread), "Cannot read 'final.yml': it does not exist [FILE_NOT_FOUND]");
  assert.match(shown("Kubeconfig '/k' cannot be read", missing('/k')), /\n {2}ENOENT: .*'\/k'$/u);
  assert.match(shown("There is no manifest '/m.yml'", missing('/other')), /\n {2}ENOENT: .*'\/other'$/u);
});

test('shows the answer of Kubernetes with its code, and the remedy for invalid credentials', () => {
  const answered = (code: number, reason: string, message: string): string =>
    describeError(
      new ApiError({
        ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
        ...{ code, reason, message },
      }),
    );

  assert.equal(
    answered(404, 'NotFound', 'pods "x" not found'),
    'Kubernetes answered 404 NotFound: pods "x" not found [KUBERNETES_NOT_FOUND]',
  );
  assert.match(
    answered(401, 'Unauthorized', 'Unauthorized'),
    /renew the token.* \[KUBERNETES_UNAUTHORIZED\]$/u,
  );
  assert.match(answered(403, 'Forbidden', 'no'), /grant that permission.* \[KUBERNETES_FORBIDDEN\]$/u);
});

test('shows the missing prerequisites of the machine without a stack', async () => {
  const error = await writeFile('/dev/full', 'x').catch((reason: unknown) => reason);
  const message =
    "ENOSPC: no space left on device, write '/dev/full'; free space on the file system of that path";

  assert.equal(describeError(error), `The system rejected it: ${message}, then run the same command again`);
  const outer = new ProductError('FILE_NOT_WRITABLE', 'outer', { cause: error });
  assert.equal(describeError(outer), `outer [FILE_NOT_WRITABLE]\n  ${message}`);
});

test('names the directory of a relative path, and what to do if this user may not write there', () => {
  const refused = (code: string, path: string): string =>
    describeError(
      Object.assign(new Error(`${code}: not permitted, mkdir '${path}'`), { code, syscall: 'mkdir', path }),
    );

  for (const code of ['EPERM', 'EACCES', 'EROFS'])
    assert.equal(
      refused(code, 'hello'),
      `The system rejected it: ${code}: not permitted, mkdir 'hello' in '${process.cwd()}'; this user needs the permission to ` +
        'write there: run the command in another directory, or change its owner or mode [FILE_NOT_WRITABLE]',
    );
  assert.match(refused('EPERM', '/srv/hello'), /mkdir '\/srv\/hello'; this user/u);
  assert.match(refused('EIO', 'hello'), /mkdir 'hello' in '\/.*'$/u);
});

test('keeps the stack of a programmer error', () => {
  assert.match(describeError(new TypeError('boom')), /TypeError: boom\n\s+at /);
});
