// Generated from openapi.yaml by `npm run openapi`. Do not edit.
import type { Field } from './fields.js';

export const collections = {
  "users": [
    {
      "name": "id",
      "type": "id",
      "filter": "uuid",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "first_name",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 50
    },
    {
      "name": "last_name",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 50
    },
    {
      "name": "email",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 128
    },
    {
      "name": "location",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "title",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 50
    },
    {
      "name": "description",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 10000
    },
    {
      "name": "tags",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "avatar",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "language",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "tfa_secret",
      "type": "text",
      "filter": "text",
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
      "filter": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "role",
      "type": "relation",
      "collection": "roles",
      "filter": "uuid",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "token",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "policies",
      "type": "relations",
      "collection": "policies",
      "filter": "items",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "last_access",
      "type": "time",
      "filter": "timestamp",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "last_page",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "provider",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 128
    },
    {
      "name": "external_identifier",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "auth_data",
      "type": "json",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "email_notifications",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "appearance",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "theme_dark",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "theme_light",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "theme_light_overrides",
      "type": "json",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "theme_dark_overrides",
      "type": "json",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "created_at",
      "type": "time",
      "filter": "timestamp",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "email_verified_at",
      "type": "time",
      "filter": "timestamp",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "invite_expires_at",
      "type": "time",
      "filter": "timestamp",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "locked_until",
      "type": "time",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "has_password",
      "type": "boolean",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "last_failure",
      "type": "json",
      "creatable": false,
      "updatable": false
    }
  ],
  "roles": [
    {
      "name": "id",
      "type": "id",
      "filter": "uuid",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "name",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 100
    },
    {
      "name": "icon",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 64
    },
    {
      "name": "description",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 10000
    },
    {
      "name": "parent",
      "type": "relation",
      "collection": "roles",
      "filter": "uuid",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "children",
      "type": "relations",
      "collection": "roles",
      "filter": "items",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "policies",
      "type": "relations",
      "collection": "policies",
      "filter": "items",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "users",
      "type": "relations",
      "collection": "users",
      "filter": "items",
      "creatable": false,
      "updatable": false
    }
  ],
  "policies": [
    {
      "name": "id",
      "type": "id",
      "filter": "uuid",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "name",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 100
    },
    {
      "name": "icon",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 64
    },
    {
      "name": "description",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 10000
    },
    {
      "name": "ip_access",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "enforce_tfa",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "admin_access",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "app_access",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "permissions",
      "type": "relations",
      "collection": "permissions",
      "filter": "items",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "users",
      "type": "relations",
      "collection": "users",
      "filter": "items",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "roles",
      "type": "relations",
      "collection": "roles",
      "filter": "items",
      "creatable": false,
      "updatable": false
    }
  ],
  "permissions": [
    {
      "name": "id",
      "type": "number",
      "filter": "integer",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "policy",
      "type": "relation",
      "collection": "policies",
      "filter": "uuid",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "collection",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 64
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
      "filter": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "permissions",
      "type": "json",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "validation",
      "type": "json",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "presets",
      "type": "json",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "fields",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    }
  ],
  "clients": [
    {
      "name": "id",
      "type": "id",
      "filter": "uuid",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "name",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 100
    },
    {
      "name": "logo_uri",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 2000
    },
    {
      "name": "type",
      "type": "choice",
      "choices": [
        "public",
        "confidential"
      ],
      "filter": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "redirect_uris",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "post_logout_redirect_uris",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "allowed_origins",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "grant_types",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "scopes",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "resources",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "first_party",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "minimal_id_token",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "access_token_ttl",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 16
    },
    {
      "name": "refresh_token_ttl",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 16
    },
    {
      "name": "id_token_signed_response_alg",
      "type": "choice",
      "choices": [
        "RS256",
        "ES256",
        "EdDSA"
      ],
      "filter": "text",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "backchannel_logout_uri",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 2000
    },
    {
      "name": "pkce_required",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "created_at",
      "type": "time",
      "filter": "timestamp",
      "creatable": false,
      "updatable": false
    }
  ],
  "resources": [
    {
      "name": "id",
      "type": "id",
      "filter": "uuid",
      "creatable": true,
      "updatable": false
    },
    {
      "name": "identifier",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 255
    },
    {
      "name": "name",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 100
    },
    {
      "name": "scopes",
      "type": "list",
      "filter": "json",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "access_token_ttl",
      "type": "text",
      "filter": "text",
      "creatable": true,
      "updatable": true,
      "maxLength": 16
    },
    {
      "name": "open_to_unregistered",
      "type": "boolean",
      "filter": "boolean",
      "creatable": true,
      "updatable": true
    },
    {
      "name": "created_at",
      "type": "time",
      "filter": "timestamp",
      "creatable": false,
      "updatable": false
    }
  ],
  "activity": [
    {
      "name": "id",
      "type": "id",
      "filter": "uuid",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "timestamp",
      "type": "time",
      "filter": "timestamp",
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
      "filter": "text",
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
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "code",
      "type": "text",
      "filter": "text",
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
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "user",
      "type": "relation",
      "collection": "users",
      "filter": "uuid",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "actor",
      "type": "relation",
      "collection": "clients",
      "filter": "uuid",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "collection",
      "type": "choice",
      "choices": [
        "users",
        "activity",
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
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "item",
      "type": "text",
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "ip",
      "type": "text",
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "user_agent",
      "type": "text",
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "request_id",
      "type": "text",
      "filter": "text",
      "creatable": false,
      "updatable": false
    },
    {
      "name": "changed",
      "type": "list",
      "filter": "json",
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
      "updatable": true,
      "maxLength": 100
    },
    {
      "name": "project_color",
      "type": "text",
      "creatable": false,
      "updatable": true,
      "maxLength": 50
    },
    {
      "name": "project_logo",
      "type": "text",
      "creatable": false,
      "updatable": true,
      "maxLength": 2000
    },
    {
      "name": "default_language",
      "type": "text",
      "creatable": false,
      "updatable": true,
      "maxLength": 255
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
      "updatable": true,
      "maxLength": 1000
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
