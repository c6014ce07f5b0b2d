/** Shares that the operator allows to some: a share and all that lies below it. */
export interface AllowedShare {
  /** As the offering's option `share` is normalised. */
  readonly share: string;
  /** GUIDs; all where absent. */
  readonly organizations?: readonly string[] | undefined;
  readonly spaces?: readonly string[] | undefined;
}

/** For whom a share is asked. */
export interface ShareConsumer {
  /** undefined where the platform does not say it: no rule that names organizations allows that. */
  readonly organizationGuid: string | undefined;
  readonly spaceGuid: string;
}

/** Whether one of the rules allows the share to that org and space; without rules every share is allowed. */
export function isAllowed(
  rules: readonly AllowedShare[] | undefined,
  share: string,
  asker: ShareConsumer,
): boolean {
  if (rules === undefined) return true;
  return rules.some(
    (rule) =>
      isWithin(share, rule.share) &&
      includesOrAll(asker.organizationGuid, rule.organizations) &&
      includesOrAll(asker.spaceGuid, rule.spaces),
  );
}

const includesOrAll = (guid: string | undefined, allowed: readonly string[] | undefined): boolean =>
  allowed === undefined || (guid !== undefined && allowed.includes(guid));

function isWithin(share: string, folder: string): boolean {
  const whole = folder.replace(/\/+$/u, '');
  return share === folder || share === whole || share.startsWith(`${whole}/`);
}

export const shareNotAllowed =
  'the share is not allowed to this org and space; ask the operator of the broker for it (allowed_shares)';
