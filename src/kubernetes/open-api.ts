import type { Access } from './access.ts';
import { openTransport } from './open-transport.ts';
import { RestApi } from './rest-api.ts';

/** A RestApi over the transport that suits this runtime. Connects at the first request. */
export async function openApi(access: Access): Promise<RestApi> {
  return new RestApi({ transport: await openTransport(access) });
}
