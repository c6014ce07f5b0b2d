import assert from 'node:assert/strict';
import { isProductError } from '../../errors/product-error.ts';
import type { Access } from '../access/access.ts';
import { isApiError } from '../client/api-error.ts';
import { type ExecOptions, type ExecResult, execInPod } from '../client/exec.ts';

export interface ExecCase {
  readonly name: string;
  readonly run: (access: Access, proxied: Access) => Promise<void>;
}

const exec = (access: Access, command: string[], more: Partial<ExecOptions> = {}): Promise<ExecResult> =>
  execInPod(access, {
    namespace: 'bosh',
    pod: 'vm-1',
    container: 'bosh',
    deadlineMs: 10_000,
    command,
    ...more,
  });

/** Cases of exec for Node's `ws` and for Bun's replacement of it. */
export const execConformance: readonly ExecCase[] = [
  {
    name: 'returns output and exit code 0',
    run: async (access) => {
      assert.deepEqual(await exec(access, ['echo', 'a b', 'c&d']), {
        exitCode: 0,
        stdout: 'a b|c&d in bosh',
        stderr: 'warning',
      });
    },
  },
  {
    name: 'reaches the server through a proxy',
    run: async (_access, proxied) => {
      assert.equal((await exec(proxied, ['echo', 'a', 'b'])).stdout, 'a|b in bosh');
    },
  },
  {
    name: 'returns an exit code that is not 0',
    run: async (access) => {
      assert.equal((await exec(access, ['exit', '3'])).exitCode, 3);
    },
  },
  {
    name: 'sends stdin and its end',
    run: async (access) => {
      assert.equal((await exec(access, ['cat'], { stdin: 'grüße' })).stdout, 'grüße');
    },
  },
  {
    name: 'rejects with the Status of a command that cannot run',
    run: async (access) => {
      await assert.rejects(exec(access, ['missing']), (error) => isApiError(error, 500, 'InternalError'));
    },
  },
  {
    name: 'rejects when there is no such pod',
    run: async (access) => {
      await assert.rejects(exec(access, ['echo'], { pod: 'gone' }), (error) => isApiError(error, 404));
    },
  },
  {
    name: 'rejects when the connection breaks before the exit code',
    run: async (access) => {
      await assert.rejects(exec(access, ['drop']), (error) =>
        isProductError(error, 'KUBERNETES_UNREACHABLE'),
      );
    },
  },
  {
    name: 'rejects at its deadline',
    run: async (access) => {
      await assert.rejects(
        exec(access, ['hang'], { deadlineMs: 300 }),
        (error) =>
          isProductError(error, 'DEADLINE') && /0\.3 s for a command .* bosh\/vm-1/u.test(error.message),
      );
    },
  },
  {
    name: 'verifies the server',
    run: async (access) => {
      const { ca: _, ...untrusting } = access;
      await assert.rejects(exec(untrusting, ['echo']), (error) =>
        isProductError(error, 'KUBERNETES_UNREACHABLE'),
      );
    },
  },
  {
    name: 'shows its client certificate',
    run: async (access) => {
      const { certificate: _certificate, key: _key, ...anonymous } = access;
      await assert.rejects(exec(anonymous, ['echo']), (error) =>
        isProductError(error, 'KUBERNETES_UNREACHABLE'),
      );
    },
  },
];
