// Generated from openapi.yaml by `npm run openapi`. Do not edit.
import type { Field } from './fields.js';

export const collections = {
  "users": [
    {
      "name": "id",
      "type": "id",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "first_name",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "last_name",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "email",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "location",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "title",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "description",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "tags",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "avatar",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "language",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "tfa_secret",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "status",
      "type": "choice",
      "choices": [
        "draft",
        "invited",
        "unverified",
        "active",
        "suspended",
        "archived"
      ],
      "creatable": true,
      "updatable": true
    },
    {
      "name": "role",
      "type": "relation",
      "collection": "roles",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "token",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "policies",
      "type": "relations",
      "collection": "policies",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "last_access",
      "type": "time",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "last_page",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "provider",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "external_identifier",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "auth_data",
      "type": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "email_notifications",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "appearance",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "theme_dark",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "theme_light",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "theme_light_overrides",
      "type": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "theme_dark_overrides",
      "type": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "created_at",
      "type": "time",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "email_verified_at",
      "type": "time",
      "creatable": false,
      "updatable": false
    }
  ],
  "roles": [
    {
      "name": "id",
      "type": "id",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "name",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "icon",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "description",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "parent",
      "type": "relation",
      "collection": "roles",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "children",
      "type": "relations",
      "collection": "roles",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "policies",
      "type": "relations",
      "collection": "policies",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "users",
      "type": "relations",
      "collection": "users",
      "creatable": false,
      "updatable": false
    }
  ],
  "policies": [
    {
      "name": "id",
      "type": "id",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "name",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "icon",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "description",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "ip_access",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "enforce_tfa",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "admin_access",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "app_access",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "permissions",
      "type": "relations",
      "collection": "permissions",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "users",
      "type": "relations",
      "collection": "users",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "roles",
      "type": "relations",
      "collection": "roles",
      "creatable": false,
      "updatable": false
    }
  ],
  "permissions": [
    {
      "name": "id",
      "type": "number",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "policy",
      "type": "relation",
      "collection": "policies",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "collection",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "action",
      "type": "choice",
      "choices": [
        "create",
        "read",
        "update",
        "delete"
      ],
      "creatable": true,
      "updatable": true
    },
    {
      "name": "permissions",
      "type": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "validation",
      "type": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "presets",
      "type": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "fields",
      "type": "list",
      "creatable": true,
      "updatable": true
    }
  ],
  "clients": [
    {
      "name": "id",
      "type": "id",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "name",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "logo_uri",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "type",
      "type": "choice",
      "choices": [
        "public",
        "confidential"
      ],
      "creatable": true,
      "updatable": true
    },
    {
      "name": "redirect_uris",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "post_logout_redirect_uris",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "allowed_origins",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "grant_types",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "scopes",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "resources",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "first_party",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "minimal_id_token",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "access_token_ttl",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "refresh_token_ttl",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "id_token_signed_response_alg",
      "type": "choice",
      "choices": [
        "RS256",
        "ES256",
        "EdDSA"
      ],
      "creatable": true,
      "updatable": true
    },
    {
      "name": "backchannel_logout_uri",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "pkce_required",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "created_at",
      "type": "time",
      "creatable": false,
      "updatable": false
    }
  ],
  "resources": [
    {
      "name": "id",
      "type": "id",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "identifier",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "name",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "scopes",
      "type": "list",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "access_token_ttl",
      "type": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "open_to_unregistered",
      "type": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "created_at",
      "type": "time",
      "creatable": false,
      "updatable": false
    }
  ],
  "activity": [
    {
      "name": "id",
      "type": "id",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "timestamp",
      "type": "time",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "action",
      "type": "choice",
      "choices": [
        "login",
        "reauthenticate",
        "logout",
        "refresh_reused",
        "session_end",
        "lock",
        "unlock",
        "password_reset_request",
        "password_reset",
        "password_change",
        "email_login_request",
        "register",
        "verification_resend",
        "email_verified",
        "invite",
        "invite_accept",
        "tfa_generate",
        "tfa_enable",
        "tfa_disable",
        "recovery_codes",
        "recovery_code_used",
        "passkey_add",
        "passkey_remove",
        "identity_link",
        "identity_unlink",
        "email_change_request",
        "email_change_cancel",
        "email_change",
        "application_allow",
        "application_withdraw",
        "token_exchange",
        "export",
        "secret_create",
        "mail_retry",
        "create",
        "update",
        "delete",
        "refusals_omitted"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "outcome",
      "type": "choice",
      "choices": [
        "success",
        "failure"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "code",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "reason",
      "type": "choice",
      "choices": [
        "unknown_user",
        "wrong_password",
        "no_password",
        "wrong_passkey",
        "managed",
        "missing_code",
        "wrong_code",
        "one_factor",
        "locked",
        "suspended",
        "unverified",
        "invited",
        "draft",
        "archived",
        "user_changed",
        "void_link"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "user",
      "type": "relation",
      "collection": "users",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "actor",
      "type": "relation",
      "collection": "clients",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "collection",
      "type": "choice",
      "choices": [
        "users",
        "roles",
        "policies",
        "permissions",
        "settings",
        "sessions",
        "identities",
        "passkeys",
        "mails",
        "signing_keys",
        "clients",
        "resources",
        "grants"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "item",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "ip",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "user_agent",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "request_id",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "changed",
      "type": "list",
      "creatable": false,
      "updatable": false
    }
  ],
  "mails": [
    {
      "name": "id",
      "type": "id",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "kind",
      "type": "choice",
      "choices": [
        "invite",
        "registration",
        "account_exists",
        "reset",
        "notice",
        "email_change",
        "email_change_notice",
        "email_login",
        "email_code"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "state",
      "type": "choice",
      "choices": [
        "waiting",
        "sending",
        "failed",
        "sent",
        "dropped"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "user",
      "type": "id",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "email",
      "type": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "attempts",
      "type": "number",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "created_at",
      "type": "time",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "next_attempt_at",
      "type": "time",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "limit",
      "type": "choice",
      "choices": [
        "network",
        "mailbox",
        "notices",
        "alerts",
        "pending"
      ],
      "creatable": false,
      "updatable": false
    },
    {
      "name": "reason",
      "type": "text",
      "creatable": false,
      "updatable": false
    }
  ],
  "settings": [
    {
      "name": "project_name",
      "type": "text",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "project_color",
      "type": "text",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "project_logo",
      "type": "text",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "default_language",
      "type": "text",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "public_registration",
      "type": "boolean",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "public_registration_verify_email",
      "type": "boolean",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "public_registration_role",
      "type": "id",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "public_registration_email_filter",
      "type": "json",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "public_policy",
      "type": "id",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "auth_password_policy",
      "type": "text",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "auth_login_attempts",
      "type": "number",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "self_service",
      "type": "boolean",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "self_deletion",
      "type": "boolean",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "email_login",
      "type": "boolean",
      "creatable": false,
      "updatable": true
    },
    {
      "name": "unregistered_clients",
      "type": "choice",
      "choices": [
        "off",
        "listed",
        "any"
      ],
      "creatable": false,
      "updatable": true
    },
    {
      "name": "unregistered_client_hosts",
      "type": "list",
      "creatable": false,
      "updatable": true
    }
  ]
} as const satisfies Record<string, readonly Field[]>;
