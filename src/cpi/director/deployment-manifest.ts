import { ProductError } from '../../errors/product-error.ts';
import type { RegistryAnswer } from '../../oci/registry/http/registry-transport.ts';
import { canonicalName } from './canonical-name.ts';
import { jsonAnswer, membersOf, unexpected } from './json-answer.ts';

/** A director that knows who asks. */
export interface Asked {
  readonly whom: string;
  /** The answer to a GET of this path, whatever its status. */
  readonly get: (path: string) => Promise<RegistryAnswer>;
}

/** A list of names alone (bosh-director: api/controllers/deployments_controller.rb). */
const namesAlone = ['configs', 'releases', 'stemcells', 'lock']
  .map((what) => `exclude_${what}=true`)
  .join('&');

/**
 * The manifest of a deployment by its canonical name, as it was deployed; null until its first deploy came to its end. No
 * two deployments of a director have the same canonical name (deployment_plan/deployment_repo.rb). Rejects with
 * DIRECTOR_ERROR where there is none, or `client` may not read it.
 */
export async function deploymentManifest(
  asked: Asked,
  canonical: string,
  client: string,
): Promise<string | null> {
  const direct = await asked.get(pathOf(canonical));
  if (direct.status !== 404) return manifestIn(asked, direct, client);
  const name = await nameOf(asked, canonical, client);
  return manifestIn(asked, await asked.get(pathOf(name)), client);
}

const pathOf = (name: string): string => `/deployments/${encodeURIComponent(name)}`;

/** The name that was given to the deployment: `My_app` for `my-app`. */
async function nameOf(asked: Asked, canonical: string, client: string): Promise<string> {
  const answer = await asked.get(`/deployments?${namesAlone}`);
  refuseUnauthorized(asked, answer, client);
  const list = jsonAnswer(asked.whom, answer);
  if (!Array.isArray(list)) throw unexpected(asked.whom, 'with a list of deployments that is none');
  for (const entry of list as readonly unknown[]) {
    const { name } = membersOf(entry);
    if (typeof name === 'string' && canonicalName(name) === canonical) return name;
  }
  throw new ProductError(
    'DIRECTOR_ERROR',
    `${asked.whom} shows client '${client}' no deployment '${canonical}'; check director.url of the CPI's configuration, and give the client bosh.read`,
  );
}

function manifestIn(asked: Asked, answer: RegistryAnswer, client: string): string | null {
  refuseUnauthorized(asked, answer, client);
  const { manifest } = membersOf(jsonAnswer(asked.whom, answer));
  if (manifest === null || typeof manifest === 'string') return manifest;
  throw unexpected(asked.whom, 'with a deployment that has no manifest');
}

/** A token without the scope is 401, too (bosh-director: errors.rb, UnauthorizedToAccessDeployment). */
function refuseUnauthorized({ whom }: Asked, { status }: RegistryAnswer, client: string): void {
  if (status !== 401 && status !== 403) return;
  throw new ProductError(
    'DIRECTOR_ERROR',
    `${whom} does not let client '${client}' read the deployment (${status}); check director.client and director.client_secret of the CPI's configuration, and give the client bosh.read`,
  );
}
