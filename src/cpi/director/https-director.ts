import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../kubernetes/clock.ts';
import type { DirectorConfig } from '../config/director.ts';
import type { Patience } from './ask.ts';
import { ask } from './ask.ts';
import { authorizationFor, directorInfo } from './authorization.ts';
import type { Asked } from './deployment-manifest.ts';
import { deploymentManifest } from './deployment-manifest.ts';
import type { Director } from './director.ts';
import { lifecycleIn } from './lifecycle-in.ts';

export interface HttpsDirectorOptions extends DirectorConfig {
  /** Of the director that makes the call; absent: any will do. */
  readonly uuid: string | undefined;
  /** Milliseconds for all that one question takes. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** In [0, 1); default Math.random. */
  readonly random?: () => number;
  /** Milliseconds for one request; default 15,000. */
  readonly requestMs?: number;
}

/** The director over its HTTPS API. Certificates are always verified; nothing is sent before it is asked something. */
export function httpsDirector(options: HttpsDirectorOptions): Director {
  const { url, clock, deadlineMs } = options;
  const whom = `the BOSH director at ${url}`;
  return {
    lifecycleOf: async (group) => {
      const patience: Patience = {
        ca: options.ca,
        clock,
        random: options.random ?? Math.random,
        until: clock.now() + deadlineMs,
        requestMs: options.requestMs ?? 15_000,
      };
      const authorization = await authorizationOf(patience, whom, options);
      const asked: Asked = {
        whom,
        get: (path) =>
          ask(patience, { whom, method: 'GET', url: `${url}${path}`, headers: { authorization } }),
      };
      return lifecycleIn(await deploymentManifest(asked, group.deployment, options.client), group);
    },
  };
}

async function authorizationOf(
  patience: Patience,
  whom: string,
  options: HttpsDirectorOptions,
): Promise<string> {
  const info = await directorInfo(patience, whom, options.url);
  if (options.uuid !== undefined && info.uuid !== options.uuid)
    throw new ProductError(
      'DIRECTOR_ERROR',
      `${whom} is another director than the one that makes this call (${options.uuid}); set director.url of the CPI's configuration to that one`,
    );
  return authorizationFor(patience, info, options);
}
