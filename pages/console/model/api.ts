// Generated from openapi.yaml by `npm run openapi`. Do not edit.
export interface paths {
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/email/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["requestEmailLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["loginWithEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["startPasskeyLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["loginWithPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["checkPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["refresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/reauthenticate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["reauthenticate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["requestPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["checkPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/oauth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listProviderKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listProviders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["startProviderLogin"];
        put?: never;
        post: operations["completeProviderLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login/{provider}/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["finishProviderLogin"];
        put?: never;
        post: operations["submitProviderLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listIdentities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/identities/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["linkIdentity"];
        delete: operations["unlinkIdentity"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listIdentitiesOfUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/identities/{identity}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["unlinkIdentityOfUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMySessions"];
        put?: never;
        post?: never;
        delete: operations["endMyOtherSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["endMySession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSessionsOfUser"];
        put?: never;
        post?: never;
        delete: operations["endSessionsOfUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["endSessionOfUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/passkeys/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["startPasskeyRegistration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPasskeys"];
        put?: never;
        post: operations["addPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/passkeys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["removePasskey"];
        options?: never;
        head?: never;
        patch: operations["renamePasskey"];
        trace?: never;
    };
    "/users/{id}/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPasskeysOfUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/passkeys/{passkey}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["removePasskeyOfUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMyGrants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/grants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["withdrawMyGrant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listGrantsOfUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/grants/{grant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["withdrawGrantOfUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readProfile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["updateProfile"];
        trace?: never;
    };
    "/users/me/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["requestEmailChange"];
        delete: operations["cancelEmailChange"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/email/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["confirmEmailChange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/email/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelEmailChangeByLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["exportAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readMe"];
        put?: never;
        post?: never;
        delete: operations["deleteMe"];
        options?: never;
        head?: never;
        patch: operations["updateMe"];
        trace?: never;
    };
    "/users/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["changeMyPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/track/page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["trackPage"];
        trace?: never;
    };
    "/users/{id}/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["unlockUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listUsers"];
        put?: never;
        post: operations["createUsers"];
        delete: operations["deleteUsers"];
        options?: never;
        head?: never;
        patch: operations["updateUsers"];
        trace?: never;
    };
    "/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readUser"];
        put?: never;
        post?: never;
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        patch: operations["updateUser"];
        trace?: never;
    };
    "/users/me/tfa/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["generateTfaSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/tfa/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["enableTfa"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/tfa/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["disableTfa"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/me/tfa/recovery-codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["createRecoveryCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/tfa/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["disableTfaOfUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/invite": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["invite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/invite/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["acceptInvite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/register/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendVerification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/register/verify-email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["verifyEmail"];
        put?: never;
        post: operations["confirmEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/roles/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readMyRoles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listRoles"];
        put?: never;
        post: operations["createRoles"];
        delete: operations["deleteRoles"];
        options?: never;
        head?: never;
        patch: operations["updateRoles"];
        trace?: never;
    };
    "/roles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readRole"];
        put?: never;
        post?: never;
        delete: operations["deleteRole"];
        options?: never;
        head?: never;
        patch: operations["updateRole"];
        trace?: never;
    };
    "/policies/me/globals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readMyGlobals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPolicies"];
        put?: never;
        post: operations["createPolicies"];
        delete: operations["deletePolicies"];
        options?: never;
        head?: never;
        patch: operations["updatePolicies"];
        trace?: never;
    };
    "/policies/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readPolicy"];
        put?: never;
        post?: never;
        delete: operations["deletePolicy"];
        options?: never;
        head?: never;
        patch: operations["updatePolicy"];
        trace?: never;
    };
    "/permissions/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readMyPermissions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/permissions/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["explainPermissions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPermissions"];
        put?: never;
        post: operations["createPermissions"];
        delete: operations["deletePermissions"];
        options?: never;
        head?: never;
        patch: operations["updatePermissions"];
        trace?: never;
    };
    "/permissions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readPermission"];
        put?: never;
        post?: never;
        delete: operations["deletePermission"];
        options?: never;
        head?: never;
        patch: operations["updatePermission"];
        trace?: never;
    };
    "/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["updateSettings"];
        trace?: never;
    };
    "/clients/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["createClientSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listClients"];
        put?: never;
        post: operations["createClients"];
        delete: operations["deleteClients"];
        options?: never;
        head?: never;
        patch: operations["updateClients"];
        trace?: never;
    };
    "/clients/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readClient"];
        put?: never;
        post?: never;
        delete: operations["deleteClient"];
        options?: never;
        head?: never;
        patch: operations["updateClient"];
        trace?: never;
    };
    "/resources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listResources"];
        put?: never;
        post: operations["createResources"];
        delete: operations["deleteResources"];
        options?: never;
        head?: never;
        patch: operations["updateResources"];
        trace?: never;
    };
    "/resources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readResource"];
        put?: never;
        post?: never;
        delete: operations["deleteResource"];
        options?: never;
        head?: never;
        patch: operations["updateResource"];
        trace?: never;
    };
    "/mails": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMails"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mails/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["retryMail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/activity/verification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["verifyActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listActivities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/activity/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/server/ping": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["serverPing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/server/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["serverHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/server/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["serverInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AcceptInviteBody: {
            token: string;
            password: string;
        };
        AccountExport: {
            /** Format: date-time */
            exported_at: string;
            user: {
                /** Format: uuid */
                id: string;
                email: string | null;
                email_verified_at: string | null;
                first_name: string | null;
                last_name: string | null;
                location: string | null;
                title: string | null;
                description: string | null;
                avatar: string | null;
                language: string | null;
                status: string;
                role: {
                    /** Format: uuid */
                    id: string;
                    name: string;
                } | null;
                policies: {
                    /** Format: uuid */
                    id: string;
                    name: string;
                }[];
                /** Format: date-time */
                created_at: string;
                last_access: string | null;
                last_page: string | null;
                provider: string;
                external_identifier: string | null;
                auth_data: {
                    [key: string]: unknown;
                } | null;
                email_notifications: boolean;
                appearance: string | null;
                theme_dark: string | null;
                theme_light: string | null;
                theme_light_overrides: {
                    [key: string]: unknown;
                } | null;
                theme_dark_overrides: {
                    [key: string]: unknown;
                } | null;
                has_password: boolean;
                has_token: boolean;
                token_set_at: string | null;
                tfa_enabled: boolean;
                recovery_codes_left: number;
            };
            pending_email_change: {
                email: string;
                /** Format: date-time */
                created_at: string;
                /** Format: date-time */
                expires_at: string;
            } | null;
            identities: {
                /** Format: uuid */
                id: string;
                provider: string;
                external_identifier: string;
                email: string | null;
                primary: boolean;
                /** Format: date-time */
                created_at: string;
                last_used_at: string | null;
            }[];
            passkeys: {
                /** Format: uuid */
                id: string;
                name: string;
                /** Format: date-time */
                created_at: string;
                last_used_at: string | null;
                backed_up: boolean;
                transports: string[];
                /** Format: uuid */
                aaguid: string;
            }[];
            grants: components["schemas"]["Grant"][];
            sessions: {
                /** Format: uuid */
                id: string;
                /** Format: date-time */
                created_at: string;
                /** Format: date-time */
                authenticated_at: string;
                amr: ("email" | "fed" | "hwk" | "mfa" | "otp" | "pwd" | "swk" | "user")[];
                /** Format: date-time */
                last_used_at: string;
                /** Format: date-time */
                expires_at: string;
                ip: string | null;
                user_agent: string | null;
            }[];
            known_networks: {
                network: string;
                /** Format: date-time */
                last_login_at: string;
            }[];
            known_devices: string[];
            stored_responses: {
                size: number;
                /** Format: date-time */
                expires_at: string;
            }[];
            activity: {
                /** Format: uuid */
                id: string;
                /** Format: date-time */
                timestamp: string;
                action: string;
                outcome: string;
                code: string | null;
                collection: string | null;
                item: string | null;
                ip: string | null;
                user_agent: string | null;
                changed: string[] | null;
            }[];
        };
        AccountExportResponse: {
            data: components["schemas"]["AccountExport"];
        };
        ActionAccess: {
            /** @enum {string} */
            access: "none" | "partial" | "full";
            fields?: string[];
            presets?: {
                [key: string]: unknown;
            };
        };
        Activity: {
            /** Format: uuid */
            id?: string;
            timestamp?: string | null;
            action?: ("login" | "reauthenticate" | "logout" | "refresh_reused" | "session_end" | "lock" | "unlock" | "password_reset_request" | "password_reset" | "password_change" | "email_login_request" | "register" | "verification_resend" | "email_verified" | "invite" | "invite_accept" | "tfa_generate" | "tfa_enable" | "tfa_disable" | "recovery_codes" | "recovery_code_used" | "passkey_add" | "passkey_remove" | "identity_link" | "identity_unlink" | "email_change_request" | "email_change_cancel" | "email_change" | "application_allow" | "application_withdraw" | "token_exchange" | "export" | "secret_create" | "mail_retry" | "create" | "update" | "delete" | "refusals_omitted") | null;
            outcome?: ("success" | "failure") | null;
            code?: string | null;
            reason?: ("unknown_user" | "wrong_password" | "no_password" | "wrong_passkey" | "managed" | "missing_code" | "wrong_code" | "one_factor" | "locked" | "suspended" | "unverified" | "invited" | "draft" | "archived" | "user_changed" | "void_link") | null;
            user?: string | components["schemas"]["User"] | null;
            actor?: string | components["schemas"]["Client"] | null;
            collection?: ("users" | "activity" | "roles" | "policies" | "permissions" | "settings" | "sessions" | "identities" | "passkeys" | "mails" | "signing_keys" | "clients" | "resources" | "grants") | null;
            item?: string | null;
            ip?: string | null;
            user_agent?: string | null;
            request_id?: string | null;
            changed?: string[] | null;
        };
        ActivityQueryResponse: {
            data: components["schemas"]["Activity"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        ActivityResponse: {
            data: components["schemas"]["Activity"];
            meta?: components["schemas"]["Meta"];
        };
        ActivityVerificationResponse: {
            data: {
                intact: boolean;
                fault: string | null;
                complete: boolean;
                verified: number;
                head: string | null;
            };
        };
        AddPasskeyBody: {
            credential: components["schemas"]["RegistrationCredential"];
            name?: string;
        };
        Attention: {
            failed_emails: {
                count: number;
                estimated: boolean;
            };
            locked_accounts: {
                count: number;
                estimated: boolean;
            };
            pending_invitations: {
                count: number;
                estimated: boolean;
            };
            expired_invitations: {
                count: number;
                estimated: boolean;
            };
            unverified_users: {
                count: number;
                estimated: boolean;
            };
            administrators_without_second_factor: {
                count: number;
                estimated: boolean;
            };
        };
        ChangeMyPasswordBody: {
            password: string;
            current_password?: string;
        };
        CheckPasskeyBody: {
            id: string;
        };
        CheckPasskeyResponse: {
            data: {
                known: boolean;
            };
        };
        CheckPasswordBody: {
            password: string;
            email?: string | null;
            first_name?: string | null;
            last_name?: string | null;
        };
        CheckPasswordResponse: {
            data: {
                acceptable: boolean;
                reasons: ("too_short" | "too_common" | "own_words" | "policy" | "breached")[];
            };
        };
        Client: {
            /** Format: uuid */
            id?: string;
            name?: string;
            logo_uri?: string | null;
            /** @enum {string} */
            type?: "public" | "confidential";
            redirect_uris?: string[];
            post_logout_redirect_uris?: string[];
            allowed_origins?: string[];
            grant_types?: ("authorization_code" | "refresh_token" | "client_credentials" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
            scopes?: string[] | null;
            resources?: string[];
            first_party?: boolean;
            minimal_id_token?: boolean;
            access_token_ttl?: string | null;
            refresh_token_ttl?: string | null;
            /** @enum {string} */
            id_token_signed_response_alg?: "RS256" | "ES256" | "EdDSA";
            backchannel_logout_uri?: string | null;
            pkce_required?: boolean;
            /** Format: date-time */
            created_at?: string;
        };
        ClientChanges: {
            name?: string;
            /** @enum {string} */
            type?: "public" | "confidential";
            logo_uri?: string | null;
            redirect_uris?: string[];
            post_logout_redirect_uris?: string[];
            allowed_origins?: string[];
            grant_types?: ("authorization_code" | "refresh_token" | "client_credentials" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
            scopes?: string[] | null;
            resources?: string[];
            first_party?: boolean;
            minimal_id_token?: boolean;
            access_token_ttl?: string | null;
            refresh_token_ttl?: string | null;
            /** @enum {string} */
            id_token_signed_response_alg?: "RS256" | "ES256" | "EdDSA";
            backchannel_logout_uri?: string | null;
            pkce_required?: boolean;
        };
        ClientChangesById: {
            /** Format: uuid */
            id: string;
            name?: string;
            /** @enum {string} */
            type?: "public" | "confidential";
            logo_uri?: string | null;
            redirect_uris?: string[];
            post_logout_redirect_uris?: string[];
            allowed_origins?: string[];
            grant_types?: ("authorization_code" | "refresh_token" | "client_credentials" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
            scopes?: string[] | null;
            resources?: string[];
            first_party?: boolean;
            minimal_id_token?: boolean;
            access_token_ttl?: string | null;
            refresh_token_ttl?: string | null;
            /** @enum {string} */
            id_token_signed_response_alg?: "RS256" | "ES256" | "EdDSA";
            backchannel_logout_uri?: string | null;
            pkce_required?: boolean;
        };
        ClientListResponse: {
            data: components["schemas"]["Client"][];
            meta?: components["schemas"]["Meta"];
        };
        ClientQueryResponse: {
            data: components["schemas"]["Client"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        ClientResponse: {
            data: components["schemas"]["Client"];
            meta?: components["schemas"]["Meta"];
        };
        ClientSecretResponse: {
            data: {
                secret: string;
            };
        };
        CollectionAccess: {
            create: components["schemas"]["ActionAccess"];
            read: components["schemas"]["ActionAccess"];
            update: components["schemas"]["ActionAccess"];
            delete: components["schemas"]["ActionAccess"];
        };
        CompleteProviderLoginBody: {
            otp: string;
            /** @enum {string} */
            mode?: "json" | "cookie" | "session";
        };
        ConfirmEmailBody: {
            token: string;
            password?: string;
        };
        CookieModeTokens: {
            expires: number;
            access_token: string;
        };
        CreateClientsBody: components["schemas"]["NewClient"] | components["schemas"]["NewClient"][] | {
            data: components["schemas"]["NewClient"][];
        };
        CreateClientsResponse: {
            data: components["schemas"]["CreatedClient"];
            meta?: components["schemas"]["Meta"];
        } | {
            data: components["schemas"]["CreatedClient"][];
            meta?: components["schemas"]["Meta"];
        };
        CreatePermissionsBody: components["schemas"]["NewPermission"] | components["schemas"]["NewPermission"][] | {
            data: components["schemas"]["NewPermission"][];
        };
        CreatePermissionsResponse: components["schemas"]["PermissionResponse"] | components["schemas"]["PermissionListResponse"];
        CreatePoliciesBody: components["schemas"]["NewPolicy"] | components["schemas"]["NewPolicy"][] | {
            data: components["schemas"]["NewPolicy"][];
        };
        CreatePoliciesResponse: components["schemas"]["PolicyResponse"] | components["schemas"]["PolicyListResponse"];
        CreateRecoveryCodesBody: {
            password?: string;
            otp?: string;
        };
        CreateResourcesBody: components["schemas"]["NewResource"] | components["schemas"]["NewResource"][] | {
            data: components["schemas"]["NewResource"][];
        };
        CreateResourcesResponse: components["schemas"]["ResourceResponse"] | components["schemas"]["ResourceListResponse"];
        CreateRolesBody: components["schemas"]["NewRole"] | components["schemas"]["NewRole"][] | {
            data: components["schemas"]["NewRole"][];
        };
        CreateRolesResponse: components["schemas"]["RoleResponse"] | components["schemas"]["RoleListResponse"];
        CreateUsersBody: components["schemas"]["NewUser"] | components["schemas"]["NewUser"][] | {
            data: components["schemas"]["NewUser"][];
        };
        CreateUsersResponse: components["schemas"]["UserResponse"] | components["schemas"]["UserListResponse"];
        CreatedClient: {
            /** Format: uuid */
            id?: string;
            name?: string;
            logo_uri?: string | null;
            /** @enum {string} */
            type?: "public" | "confidential";
            redirect_uris?: string[];
            post_logout_redirect_uris?: string[];
            allowed_origins?: string[];
            grant_types?: ("authorization_code" | "refresh_token" | "client_credentials" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
            scopes?: string[] | null;
            resources?: string[];
            first_party?: boolean;
            minimal_id_token?: boolean;
            access_token_ttl?: string | null;
            refresh_token_ttl?: string | null;
            /** @enum {string} */
            id_token_signed_response_alg?: "RS256" | "ES256" | "EdDSA";
            backchannel_logout_uri?: string | null;
            pkce_required?: boolean;
            /** Format: date-time */
            created_at?: string;
            secret?: string;
        };
        CsvExport: string;
        DeleteClientsBody: string[] | {
            keys: string[];
        } | {
            query: unknown;
        };
        DeleteClientsResponse: {
            data: string[];
            meta: {
                /** @enum {boolean} */
                dry_run: true;
            };
        };
        DeletePermissionsBody: number[] | {
            keys: number[];
        } | {
            query: unknown;
        };
        DeletePermissionsResponse: {
            data: number[];
            meta: {
                /** @enum {boolean} */
                dry_run: true;
            };
        };
        DeletePoliciesBody: string[] | {
            keys: string[];
        } | {
            query: unknown;
        };
        DeletePoliciesResponse: {
            data: string[];
            meta: {
                /** @enum {boolean} */
                dry_run: true;
            };
        };
        DeleteResourcesBody: string[] | {
            keys: string[];
        } | {
            query: unknown;
        };
        DeleteResourcesResponse: {
            data: string[];
            meta: {
                /** @enum {boolean} */
                dry_run: true;
            };
        };
        DeleteRolesBody: string[] | {
            keys: string[];
        } | {
            query: unknown;
        };
        DeleteRolesResponse: {
            data: string[];
            meta: {
                /** @enum {boolean} */
                dry_run: true;
            };
        };
        DeleteUsersBody: string[] | {
            keys: string[];
        } | {
            query: unknown;
        };
        DeleteUsersResponse: {
            data: string[];
            meta: {
                /** @enum {boolean} */
                dry_run: true;
            };
        };
        DeviceAuthorizationResponse: {
            device_code: string;
            user_code: string;
            verification_uri: string;
            verification_uri_complete: string;
            expires_in: number;
            interval: number;
        };
        DisableTfaBody: {
            otp: string;
        };
        EcPublicKey: {
            /** @enum {string} */
            kty: "EC";
            /** @enum {string} */
            crv: "P-256";
            x: string;
            y: string;
            kid: string;
            /** @enum {string} */
            alg: "ES256";
            /** @enum {string} */
            use: "sig";
        };
        Ed25519PublicKey: {
            /** @enum {string} */
            kty: "OKP";
            /** @enum {string} */
            crv: "Ed25519";
            x: string;
            kid: string;
            /** @enum {string} */
            alg: "EdDSA";
            /** @enum {string} */
            use: "sig";
        };
        EmailChangeBody: {
            /** Format: email */
            email: string;
        };
        EmailConfirmBody: {
            token: string;
        };
        EnableTfaBody: {
            secret: string;
            otp: string;
        };
        ExplainBody: {
            /** Format: uuid */
            user?: string;
            /** Format: uuid */
            role?: string;
            /** @enum {boolean} */
            public?: true;
            collection: string;
            /** @enum {string} */
            action: "create" | "read" | "update" | "delete";
            item?: string | number;
            field?: string;
            ip?: string;
            changes?: {
                policies?: {
                    [key: string]: unknown;
                }[];
                roles?: {
                    [key: string]: unknown;
                }[];
                permissions?: {
                    [key: string]: unknown;
                }[];
                deleted?: {
                    permissions?: number[];
                    roles?: string[];
                    policies?: string[];
                };
            };
        };
        Explanation: {
            allowed: boolean;
            fields: string[];
            filter: {
                [key: string]: unknown;
            } | null;
            validation: {
                [key: string]: unknown;
            } | null;
            because: components["schemas"]["PermissionReason"][];
            missing: components["schemas"]["MissingPermission"][];
            requires_tfa: boolean;
            counts: {
                fields: number;
                all_fields: number;
                items: number | null;
                more_items: boolean;
            };
        };
        ExplanationResponse: {
            data: components["schemas"]["Explanation"];
        };
        GenerateTfaSecretBody: {
            password?: string;
        };
        Globals: {
            app_access: boolean;
            admin_access: boolean;
            enforce_tfa: boolean;
        };
        GlobalsResponse: {
            data: components["schemas"]["Globals"];
        };
        Grant: {
            /** Format: uuid */
            id: string;
            client: {
                id: string;
                name: string;
                logo_uri: string | null;
            };
            scopes: string[];
            resources: {
                identifier: string;
                name: string;
                scopes: string[];
            }[];
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
        };
        GrantsResponse: {
            data: components["schemas"]["Grant"][];
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "warn" | "error";
            version?: string;
            checks?: {
                database: components["schemas"]["HealthCheck"];
                redis?: components["schemas"]["HealthCheck"];
                writes: components["schemas"]["WriteCheck"];
            };
        };
        HealthCheck: {
            /** @enum {string} */
            status: "ok" | "error";
            latency_ms: number;
        };
        IdentitiesResponse: {
            data: components["schemas"]["Identity"][];
        };
        Identity: {
            /** Format: uuid */
            id: string;
            provider: string;
            external_identifier: string;
            email: string | null;
            primary: boolean;
            managed: boolean;
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
        };
        IntervalCounts: {
            /** Format: date-time */
            start: string;
            active_users: number | null;
            sign_ups: number;
            sign_ins: number;
            failed_sign_ins: number;
            lockouts: number;
            password_resets: number;
            refusals_omitted: number;
        };
        IntrospectionResponse: {
            active: boolean;
            sub?: string;
            client_id?: string;
            iss?: string;
            aud?: string;
            scope?: string;
            /** @enum {string} */
            token_type?: "Bearer" | "DPoP";
            exp?: number;
            iat?: number;
            auth_time?: number;
            sid?: string;
            jti?: string;
            cnf?: {
                jkt: string;
            };
            act?: {
                sub: string;
                act?: {
                    sub: string;
                    act?: {
                        sub: string;
                    };
                };
            };
        };
        InviteBody: {
            email: string | string[];
            /** Format: uuid */
            role?: string;
            invite_url?: string;
        };
        JsonModeTokens: {
            expires: number;
            access_token: string;
            refresh_token: string;
        };
        KeySet: {
            keys: components["schemas"]["PublicKey"][];
        };
        LinkIdentityBody: {
            redirect?: string;
        };
        LinkIdentityResponse: {
            data: {
                url: string;
            };
        };
        LoginBody: {
            email: string;
            password: string;
            /** @enum {string} */
            mode?: "json" | "cookie" | "session";
            otp?: string;
        };
        LoginWithEmailBody: {
            email?: string;
            code?: string;
            binding?: string;
            token?: string;
            /** @enum {string} */
            mode?: "json" | "cookie" | "session";
            otp?: string;
        };
        LoginWithPasskeyBody: {
            credential: components["schemas"]["PasskeyCredential"];
            /** @enum {string} */
            mode?: "json" | "cookie" | "session";
            otp?: string;
        };
        LogoutBody: {
            refresh_token?: string;
            /** @enum {string} */
            mode?: "json" | "cookie" | "session";
        };
        Mail: {
            /** Format: uuid */
            id?: string;
            /** @enum {string} */
            kind?: "invite" | "registration" | "account_exists" | "reset" | "notice" | "email_change" | "email_change_notice" | "email_login" | "email_code";
            /** @enum {string} */
            state?: "waiting" | "sending" | "failed" | "sent" | "dropped";
            user?: string | null;
            email?: string | null;
            attempts?: number;
            /** Format: date-time */
            created_at?: string;
            next_attempt_at?: string | null;
            limit?: ("network" | "mailbox" | "notices" | "alerts" | "pending") | null;
            reason?: string | null;
            can_retry: boolean;
        };
        MailListResponse: {
            data: components["schemas"]["Mail"][];
        };
        Meta: {
            total_count?: number;
            filter_count?: number;
            next_cursor?: string | null;
            /** @enum {boolean} */
            dry_run?: true;
        };
        /** @enum {string} */
        MetaName: "total_count" | "filter_count" | "cursor" | "*";
        MissingPermission: {
            /** @enum {string} */
            code: "no_such_user" | "no_such_role" | "user_not_active" | "second_factor" | "no_operation" | "no_permission" | "other_addresses" | "no_such_field" | "field_not_permitted" | "no_such_item" | "item_not_reached" | "more_rights" | "not_failed" | "required_field" | "reserved";
            message: string;
            field?: string;
            /** Format: uuid */
            policy?: string;
        };
        MyPermissions: {
            [key: string]: components["schemas"]["CollectionAccess"];
        };
        MyPermissionsResponse: {
            data: components["schemas"]["MyPermissions"];
        };
        NdjsonExport: string;
        NewClient: {
            /** Format: uuid */
            id?: string;
            name: string;
            /** @enum {string} */
            type: "public" | "confidential";
            logo_uri?: string | null;
            redirect_uris?: string[];
            post_logout_redirect_uris?: string[];
            allowed_origins?: string[];
            grant_types?: ("authorization_code" | "refresh_token" | "client_credentials" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
            scopes?: string[] | null;
            resources?: string[];
            first_party?: boolean;
            minimal_id_token?: boolean;
            access_token_ttl?: string | null;
            refresh_token_ttl?: string | null;
            /** @enum {string} */
            id_token_signed_response_alg?: "RS256" | "ES256" | "EdDSA";
            backchannel_logout_uri?: string | null;
            pkce_required?: boolean;
        };
        NewPermission: {
            id?: number;
            /** Format: uuid */
            policy: string;
            collection: string;
            /** @enum {string} */
            action: "create" | "read" | "update" | "delete";
            permissions?: {
                [key: string]: unknown;
            } | null;
            validation?: {
                [key: string]: unknown;
            } | null;
            presets?: {
                [key: string]: unknown;
            } | null;
            fields?: string[] | null;
        };
        NewPolicy: {
            /** Format: uuid */
            id?: string;
            name: string;
            icon?: string | null;
            description?: string | null;
            ip_access?: string[] | null;
            enforce_tfa?: boolean;
            admin_access?: boolean;
            app_access?: boolean;
        };
        NewResource: {
            /** Format: uuid */
            id?: string;
            identifier: string;
            name: string;
            scopes?: string[];
            access_token_ttl?: string;
            open_to_unregistered?: boolean;
        };
        NewRole: {
            /** Format: uuid */
            id?: string;
            name: string;
            icon?: string | null;
            description?: string | null;
            parent?: string | null;
            policies?: string[];
        };
        NewUser: {
            /** Format: uuid */
            id?: string;
            /** Format: email */
            email: string;
            password?: string | null;
            first_name?: string | null;
            last_name?: string | null;
            location?: string | null;
            title?: string | null;
            description?: string | null;
            avatar?: string | null;
            language?: string | null;
            /** @enum {string} */
            status?: "draft" | "invited" | "unverified" | "active" | "suspended" | "archived";
            role?: string | null;
            policies?: string[];
            token?: string | null;
            last_access?: string | null;
            last_page?: string | null;
            provider?: string;
            external_identifier?: string | null;
            auth_data?: {
                [key: string]: unknown;
            } | null;
            email_notifications?: boolean;
            appearance?: string | null;
            theme_dark?: string | null;
            theme_light?: string | null;
            theme_light_overrides?: {
                [key: string]: unknown;
            } | null;
            theme_dark_overrides?: {
                [key: string]: unknown;
            } | null;
        };
        Passkey: {
            /** Format: uuid */
            id: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
            backed_up: boolean;
            transports: string[];
            /** Format: uuid */
            aaguid: string;
        };
        PasskeyCreationOptions: {
            rp: {
                id: string;
                name: string;
            };
            user: {
                id: string;
                name: string;
                displayName: string;
            };
            challenge: string;
            pubKeyCredParams: {
                /** @enum {string} */
                type: "public-key";
                alg: number;
            }[];
            timeout: number;
            excludeCredentials: {
                /** @enum {string} */
                type: "public-key";
                id: string;
                transports: string[];
            }[];
            authenticatorSelection: {
                /** @enum {string} */
                residentKey: "required";
                /** @enum {boolean} */
                requireResidentKey: true;
                /** @enum {string} */
                userVerification: "preferred";
            };
            /** @enum {string} */
            attestation: "none";
        };
        PasskeyCreationOptionsResponse: {
            data: components["schemas"]["PasskeyCreationOptions"];
        };
        PasskeyCredential: {
            id: string;
            rawId: string;
            type: string;
            response: {
                clientDataJSON: string;
                authenticatorData: string;
                signature: string;
                userHandle?: string | null;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        PasskeyRequestOptions: {
            challenge: string;
            timeout: number;
            rpId: string;
            /** @enum {string} */
            userVerification: "preferred";
        };
        PasskeyRequestOptionsResponse: {
            data: components["schemas"]["PasskeyRequestOptions"];
        };
        PasskeyResponse: {
            data: components["schemas"]["Passkey"];
        };
        PasskeysResponse: {
            data: components["schemas"]["Passkey"][];
        };
        Permission: {
            id?: number;
            policy?: string | components["schemas"]["Policy"] | null;
            collection?: string | null;
            action?: ("create" | "read" | "update" | "delete") | null;
            permissions?: {
                [key: string]: unknown;
            } | null;
            validation?: {
                [key: string]: unknown;
            } | null;
            presets?: {
                [key: string]: unknown;
            } | null;
            fields?: string[] | null;
        };
        PermissionChanges: {
            /** Format: uuid */
            policy?: string;
            collection?: string;
            /** @enum {string} */
            action?: "create" | "read" | "update" | "delete";
            permissions?: {
                [key: string]: unknown;
            } | null;
            validation?: {
                [key: string]: unknown;
            } | null;
            presets?: {
                [key: string]: unknown;
            } | null;
            fields?: string[] | null;
        };
        PermissionChangesById: {
            id: number;
            /** Format: uuid */
            policy?: string;
            collection?: string;
            /** @enum {string} */
            action?: "create" | "read" | "update" | "delete";
            permissions?: {
                [key: string]: unknown;
            } | null;
            validation?: {
                [key: string]: unknown;
            } | null;
            presets?: {
                [key: string]: unknown;
            } | null;
            fields?: string[] | null;
        };
        PermissionListResponse: {
            data: components["schemas"]["Permission"][];
            meta?: components["schemas"]["Meta"];
        };
        PermissionQueryResponse: {
            data: components["schemas"]["Permission"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        PermissionReason: {
            /** Format: uuid */
            policy: string;
            policy_name: string;
            permission: number | null;
            change: number | null;
            fields: string[];
            own: boolean;
            /** @enum {string} */
            by: "role" | "parent" | "user" | "public";
            role: string | null;
            role_name: string | null;
        };
        PermissionResponse: {
            data: components["schemas"]["Permission"];
            meta?: components["schemas"]["Meta"];
        };
        Policy: {
            /** Format: uuid */
            id?: string;
            name?: string | null;
            icon?: string | null;
            description?: string | null;
            ip_access?: string[] | null;
            enforce_tfa?: boolean | null;
            admin_access?: boolean | null;
            app_access?: boolean | null;
            permissions?: (number | components["schemas"]["Permission"])[] | null;
            users?: (string | components["schemas"]["User"])[] | null;
            roles?: (string | components["schemas"]["Role"])[] | null;
        };
        PolicyChanges: {
            name?: string;
            icon?: string | null;
            description?: string | null;
            ip_access?: string[] | null;
            enforce_tfa?: boolean;
            admin_access?: boolean;
            app_access?: boolean;
        };
        PolicyChangesById: {
            /** Format: uuid */
            id: string;
            name?: string;
            icon?: string | null;
            description?: string | null;
            ip_access?: string[] | null;
            enforce_tfa?: boolean;
            admin_access?: boolean;
            app_access?: boolean;
        };
        PolicyListResponse: {
            data: components["schemas"]["Policy"][];
            meta?: components["schemas"]["Meta"];
        };
        PolicyQueryResponse: {
            data: components["schemas"]["Policy"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        PolicyResponse: {
            data: components["schemas"]["Policy"];
            meta?: components["schemas"]["Meta"];
        };
        Profile: {
            /** Format: uuid */
            id: string;
            email: string | null;
            email_verified: boolean;
            pending_email: string | null;
            first_name: string | null;
            last_name: string | null;
            avatar: string | null;
            language: string | null;
            role: {
                /** Format: uuid */
                id: string;
                name: string;
            } | null;
            /** Format: date-time */
            created_at: string;
            last_access: string | null;
            has_password: boolean;
            tfa_enabled: boolean;
            recovery_codes_left: number;
            passkeys: number;
            providers: string[];
        };
        ProfileChanges: {
            first_name?: string | null;
            last_name?: string | null;
            language?: string | null;
            avatar?: string | null;
        };
        ProfileResponse: {
            data: components["schemas"]["Profile"];
        };
        Provider: {
            name: string;
            /** @enum {string} */
            driver: "openid" | "oauth2";
            label?: string;
            icon?: string;
        };
        ProviderCallbackForm: {
            code?: string;
            state?: string;
            iss?: string;
            error?: string;
            user?: string;
        };
        ProviderKeys: {
            /** @enum {boolean} */
            public: true;
            data: string[];
        };
        ProviderMetadata: {
            issuer: string;
            authorization_endpoint: string;
            token_endpoint: string;
            userinfo_endpoint: string;
            jwks_uri: string;
            introspection_endpoint: string;
            revocation_endpoint: string;
            end_session_endpoint: string;
            pushed_authorization_request_endpoint: string;
            device_authorization_endpoint: string;
            scopes_supported: string[];
            claims_supported: string[];
            claim_types_supported: string[];
            response_types_supported: string[];
            response_modes_supported: string[];
            grant_types_supported: string[];
            subject_types_supported: string[];
            id_token_signing_alg_values_supported: string[];
            token_endpoint_auth_methods_supported: string[];
            code_challenge_methods_supported: string[];
            prompt_values_supported: string[];
            ui_locales_supported: string[];
            acr_values_supported: string[];
            dpop_signing_alg_values_supported: string[];
            authorization_response_iss_parameter_supported: boolean;
            claims_parameter_supported: boolean;
            request_uri_parameter_supported: boolean;
            client_id_metadata_document_supported?: boolean;
            backchannel_logout_supported?: boolean;
            backchannel_logout_session_supported?: boolean;
        };
        ProviderTokens: {
            /** @enum {boolean} */
            public: true;
            data: components["schemas"]["SessionTokens"];
        };
        ProvidersResponse: {
            data: components["schemas"]["Provider"][];
            disableDefault: boolean;
        };
        PublicKey: components["schemas"]["Ed25519PublicKey"] | components["schemas"]["EcPublicKey"] | components["schemas"]["RsaPublicKey"];
        PushedAuthorizationResponse: {
            request_uri: string;
            expires_in: number;
        };
        ReauthenticateBody: {
            password?: string;
            otp?: string;
            code?: string;
            credential?: components["schemas"]["PasskeyCredential"];
        };
        RecoveryCodesResponse: {
            data: string[];
        };
        RefreshBody: {
            refresh_token?: string;
            /** @enum {string} */
            mode?: "json" | "cookie" | "session";
        };
        RegisterBody: {
            /** Format: email */
            email: string;
            password: string;
            first_name?: string | null;
            last_name?: string | null;
            verification_url?: string;
        };
        RegistrationCredential: {
            id: string;
            rawId: string;
            type: string;
            response: {
                clientDataJSON: string;
                attestationObject: string;
                transports?: string[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        RelatedOrigins: {
            origins: string[];
        };
        RenamePasskeyBody: {
            name: string;
        };
        RequestEmailLoginBody: {
            email?: string;
            redirect?: string;
            return_to?: string;
            binding?: string;
        };
        RequestPasswordResetBody: {
            email: string;
            reset_url?: string;
        };
        ResendVerificationBody: {
            /** Format: email */
            email: string;
        };
        ResetPasswordBody: {
            token: string;
            password: string;
        };
        Resource: {
            /** Format: uuid */
            id?: string;
            identifier?: string;
            name?: string;
            scopes?: string[];
            access_token_ttl?: string;
            open_to_unregistered?: boolean;
            /** Format: date-time */
            created_at?: string;
        };
        ResourceChanges: {
            identifier?: string;
            name?: string;
            scopes?: string[];
            access_token_ttl?: string;
            open_to_unregistered?: boolean;
        };
        ResourceChangesById: {
            /** Format: uuid */
            id: string;
            identifier?: string;
            name?: string;
            scopes?: string[];
            access_token_ttl?: string;
            open_to_unregistered?: boolean;
        };
        ResourceListResponse: {
            data: components["schemas"]["Resource"][];
            meta?: components["schemas"]["Meta"];
        };
        ResourceQueryResponse: {
            data: components["schemas"]["Resource"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        ResourceResponse: {
            data: components["schemas"]["Resource"];
            meta?: components["schemas"]["Meta"];
        };
        Role: {
            /** Format: uuid */
            id?: string;
            name?: string | null;
            icon?: string | null;
            description?: string | null;
            parent?: string | components["schemas"]["Role"] | null;
            children?: (string | components["schemas"]["Role"])[] | null;
            policies?: (string | components["schemas"]["Policy"])[] | null;
            users?: (string | components["schemas"]["User"])[] | null;
        };
        RoleChanges: {
            name?: string;
            icon?: string | null;
            description?: string | null;
            parent?: string | null;
            policies?: string[];
        };
        RoleChangesById: {
            /** Format: uuid */
            id: string;
            name?: string;
            icon?: string | null;
            description?: string | null;
            parent?: string | null;
            policies?: string[];
        };
        RoleListResponse: {
            data: components["schemas"]["Role"][];
            meta?: components["schemas"]["Meta"];
        };
        RoleQueryResponse: {
            data: components["schemas"]["Role"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        RoleResponse: {
            data: components["schemas"]["Role"];
            meta?: components["schemas"]["Meta"];
        };
        RsaPublicKey: {
            /** @enum {string} */
            kty: "RSA";
            n: string;
            e: string;
            kid: string;
            /** @enum {string} */
            alg: "RS256";
            /** @enum {string} */
            use: "sig";
        };
        SearchActivitiesBody: {
            query?: unknown;
        };
        SearchClientsBody: {
            query?: unknown;
        };
        SearchPermissionsBody: {
            query?: unknown;
        };
        SearchPoliciesBody: {
            query?: unknown;
        };
        SearchResourcesBody: {
            query?: unknown;
        };
        SearchRolesBody: {
            query?: unknown;
        };
        SearchUsersBody: {
            query?: unknown;
        };
        ServerInfo: {
            project: {
                project_name: string;
                project_color: string | null;
                project_logo: string | null;
                default_language: string;
                public_registration: boolean;
                public_registration_verify_email: boolean;
            };
        };
        ServerInfoResponse: {
            data: components["schemas"]["ServerInfo"];
        };
        Session: {
            /** Format: uuid */
            id: string;
            device: string | null;
            user_agent: string | null;
            address: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at: string;
            /** Format: date-time */
            expires_at: string;
            current: boolean;
            applications: {
                id: string;
                name: string;
            }[];
        };
        SessionModeTokens: {
            expires: number;
        };
        SessionOfUser: {
            /** Format: uuid */
            id?: string;
            device?: string | null;
            user_agent?: string | null;
            address?: string | null;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            last_used_at?: string;
            /** Format: date-time */
            expires_at?: string;
            current?: boolean;
            applications?: {
                id: string;
                name: string;
            }[];
            can_end: boolean;
        };
        SessionTokens: components["schemas"]["JsonModeTokens"] | components["schemas"]["CookieModeTokens"] | components["schemas"]["SessionModeTokens"];
        SessionTokensResponse: {
            data: components["schemas"]["SessionTokens"];
        };
        SessionsOfUserResponse: {
            data: components["schemas"]["SessionOfUser"][];
        };
        SessionsResponse: {
            data: components["schemas"]["Session"][];
        };
        Settings: {
            project_name?: string;
            project_color?: string | null;
            project_logo?: string | null;
            default_language?: string;
            public_registration?: boolean;
            public_registration_verify_email?: boolean;
            public_registration_role?: string | null;
            public_registration_email_filter?: {
                [key: string]: unknown;
            } | null;
            public_policy?: string | null;
            auth_password_policy?: string | null;
            auth_login_attempts?: number | null;
            self_service?: boolean;
            self_deletion?: boolean;
            email_login?: boolean;
            /** @enum {string} */
            unregistered_clients?: "off" | "listed" | "any";
            unregistered_client_hosts?: string[];
        };
        SettingsInput: {
            project_name?: string;
            project_color?: string | null;
            project_logo?: string | null;
            default_language?: string;
            public_registration?: boolean;
            public_registration_verify_email?: boolean;
            public_registration_role?: string | null;
            public_registration_email_filter?: {
                [key: string]: unknown;
            } | null;
            public_policy?: string | null;
            auth_password_policy?: string | null;
            auth_login_attempts?: number | null;
            self_service?: boolean;
            self_deletion?: boolean;
            email_login?: boolean;
            /** @enum {string} */
            unregistered_clients?: "off" | "listed" | "any";
            unregistered_client_hosts?: string[];
        };
        SettingsResponse: {
            data: components["schemas"]["Settings"];
        };
        Statistics: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** @enum {string} */
            interval: "hour" | "day" | "week" | "month";
            estimated: boolean;
            intervals: components["schemas"]["IntervalCounts"][];
            total_users: number;
            attention: components["schemas"]["Attention"];
        };
        StatisticsResponse: {
            data: components["schemas"]["Statistics"];
        };
        TfaSecret: {
            secret: string;
            otpauth_url: string;
        };
        TokenResponse: {
            access_token: string;
            /** @enum {string} */
            token_type: "Bearer" | "DPoP";
            expires_in: number;
            refresh_token?: string;
            id_token?: string;
            scope?: string;
            issued_token_type?: string;
        };
        TrackPageBody: {
            last_page: string;
        };
        UpdateClientsBody: {
            keys: string[];
            data: components["schemas"]["ClientChanges"];
        } | {
            query: unknown;
            data: components["schemas"]["ClientChanges"];
        } | components["schemas"]["ClientChangesById"][];
        UpdatePermissionsBody: {
            keys: number[];
            data: components["schemas"]["PermissionChanges"];
        } | {
            query: unknown;
            data: components["schemas"]["PermissionChanges"];
        } | components["schemas"]["PermissionChangesById"][];
        UpdatePoliciesBody: {
            keys: string[];
            data: components["schemas"]["PolicyChanges"];
        } | {
            query: unknown;
            data: components["schemas"]["PolicyChanges"];
        } | components["schemas"]["PolicyChangesById"][];
        UpdateResourcesBody: {
            keys: string[];
            data: components["schemas"]["ResourceChanges"];
        } | {
            query: unknown;
            data: components["schemas"]["ResourceChanges"];
        } | components["schemas"]["ResourceChangesById"][];
        UpdateRolesBody: {
            keys: string[];
            data: components["schemas"]["RoleChanges"];
        } | {
            query: unknown;
            data: components["schemas"]["RoleChanges"];
        } | components["schemas"]["RoleChangesById"][];
        UpdateUserBody: {
            /** Format: email */
            email?: string;
            password?: string | null;
            first_name?: string | null;
            last_name?: string | null;
            location?: string | null;
            title?: string | null;
            description?: string | null;
            avatar?: string | null;
            language?: string | null;
            /** @enum {string} */
            status?: "draft" | "invited" | "unverified" | "active" | "suspended" | "archived";
            role?: string | null;
            policies?: string[];
            token?: string | null;
            last_access?: string | null;
            last_page?: string | null;
            provider?: string;
            external_identifier?: string | null;
            auth_data?: {
                [key: string]: unknown;
            } | null;
            email_notifications?: boolean;
            appearance?: string | null;
            theme_dark?: string | null;
            theme_light?: string | null;
            theme_light_overrides?: {
                [key: string]: unknown;
            } | null;
            theme_dark_overrides?: {
                [key: string]: unknown;
            } | null;
            current_password?: string;
        };
        UpdateUsersBody: {
            keys: string[];
            data: components["schemas"]["UserChanges"];
        } | {
            query: unknown;
            data: components["schemas"]["UserChanges"];
        } | components["schemas"]["UserChangesById"][];
        UpdatedUser: {
            /** Format: uuid */
            id?: string;
            first_name?: string | null;
            last_name?: string | null;
            email?: string | null;
            location?: string | null;
            title?: string | null;
            description?: string | null;
            avatar?: string | null;
            language?: string | null;
            tfa_secret?: string | null;
            status?: ("draft" | "invited" | "unverified" | "active" | "suspended" | "archived") | null;
            role?: string | components["schemas"]["Role"] | null;
            token?: string | null;
            policies?: (string | components["schemas"]["Policy"])[] | null;
            last_access?: string | null;
            last_page?: string | null;
            provider?: string | null;
            external_identifier?: string | null;
            auth_data?: {
                [key: string]: unknown;
            } | null;
            email_notifications?: boolean | null;
            appearance?: string | null;
            theme_dark?: string | null;
            theme_light?: string | null;
            theme_light_overrides?: {
                [key: string]: unknown;
            } | null;
            theme_dark_overrides?: {
                [key: string]: unknown;
            } | null;
            created_at?: string | null;
            email_verified_at?: string | null;
            invite_expires_at?: string | null;
            locked_until?: string | null;
            has_password?: boolean | null;
            last_failure?: {
                /** Format: date-time */
                timestamp: string;
                code: string | null;
                reason: string | null;
            } | null;
            pending_email?: string | null;
        };
        User: {
            /** Format: uuid */
            id?: string;
            first_name?: string | null;
            last_name?: string | null;
            email?: string | null;
            location?: string | null;
            title?: string | null;
            description?: string | null;
            avatar?: string | null;
            language?: string | null;
            tfa_secret?: string | null;
            status?: ("draft" | "invited" | "unverified" | "active" | "suspended" | "archived") | null;
            role?: string | components["schemas"]["Role"] | null;
            token?: string | null;
            policies?: (string | components["schemas"]["Policy"])[] | null;
            last_access?: string | null;
            last_page?: string | null;
            provider?: string | null;
            external_identifier?: string | null;
            auth_data?: {
                [key: string]: unknown;
            } | null;
            email_notifications?: boolean | null;
            appearance?: string | null;
            theme_dark?: string | null;
            theme_light?: string | null;
            theme_light_overrides?: {
                [key: string]: unknown;
            } | null;
            theme_dark_overrides?: {
                [key: string]: unknown;
            } | null;
            created_at?: string | null;
            email_verified_at?: string | null;
            invite_expires_at?: string | null;
            locked_until?: string | null;
            has_password?: boolean | null;
            last_failure?: {
                /** Format: date-time */
                timestamp: string;
                code: string | null;
                reason: string | null;
            } | null;
        };
        UserChanges: {
            /** Format: email */
            email?: string;
            password?: string | null;
            first_name?: string | null;
            last_name?: string | null;
            location?: string | null;
            title?: string | null;
            description?: string | null;
            avatar?: string | null;
            language?: string | null;
            /** @enum {string} */
            status?: "draft" | "invited" | "unverified" | "active" | "suspended" | "archived";
            role?: string | null;
            policies?: string[];
            token?: string | null;
            last_access?: string | null;
            last_page?: string | null;
            provider?: string;
            external_identifier?: string | null;
            auth_data?: {
                [key: string]: unknown;
            } | null;
            email_notifications?: boolean;
            appearance?: string | null;
            theme_dark?: string | null;
            theme_light?: string | null;
            theme_light_overrides?: {
                [key: string]: unknown;
            } | null;
            theme_dark_overrides?: {
                [key: string]: unknown;
            } | null;
        };
        UserChangesById: {
            /** Format: uuid */
            id: string;
            /** Format: email */
            email?: string;
            password?: string | null;
            first_name?: string | null;
            last_name?: string | null;
            location?: string | null;
            title?: string | null;
            description?: string | null;
            avatar?: string | null;
            language?: string | null;
            /** @enum {string} */
            status?: "draft" | "invited" | "unverified" | "active" | "suspended" | "archived";
            role?: string | null;
            policies?: string[];
            token?: string | null;
            last_access?: string | null;
            last_page?: string | null;
            provider?: string;
            external_identifier?: string | null;
            auth_data?: {
                [key: string]: unknown;
            } | null;
            email_notifications?: boolean;
            appearance?: string | null;
            theme_dark?: string | null;
            theme_light?: string | null;
            theme_light_overrides?: {
                [key: string]: unknown;
            } | null;
            theme_dark_overrides?: {
                [key: string]: unknown;
            } | null;
        };
        UserInfo: {
            sub: string;
            name?: string;
            given_name?: string;
            family_name?: string;
            locale?: string;
            picture?: string;
            updated_at?: number;
            email?: string;
            email_verified?: boolean;
            roles?: string[];
            groups?: string[];
        };
        UserListResponse: {
            data: components["schemas"]["User"][];
            meta?: components["schemas"]["Meta"];
        };
        UserQueryResponse: {
            data: components["schemas"]["User"][] | unknown[];
            meta?: components["schemas"]["Meta"];
        };
        UserResponse: {
            data: components["schemas"]["User"];
            meta?: components["schemas"]["Meta"];
        };
        UserUpdateResponse: {
            data: components["schemas"]["UpdatedUser"];
            meta?: components["schemas"]["Meta"];
        };
        UsersUpdateResponse: {
            data: components["schemas"]["UpdatedUser"][];
            meta?: components["schemas"]["Meta"];
        };
        WriteCheck: {
            /** @enum {string} */
            status: "ok" | "error";
            /** Format: date-time */
            failing_since?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokensResponse"];
                };
            };
        };
    };
    requestEmailLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RequestEmailLoginBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    loginWithEmail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LoginWithEmailBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokensResponse"];
                };
            };
        };
    };
    startPasskeyLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyRequestOptionsResponse"];
                };
            };
        };
    };
    loginWithPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginWithPasskeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokensResponse"];
                };
            };
        };
    };
    checkPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckPasskeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckPasskeyResponse"];
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LogoutBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    refresh: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefreshBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokensResponse"];
                };
            };
        };
    };
    reauthenticate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReauthenticateBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    requestPasswordReset: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestPasswordResetBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetPasswordBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    checkPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckPasswordBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckPasswordResponse"];
                };
            };
        };
    };
    listProviderKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderKeys"];
                };
            };
        };
    };
    listProviders: {
        parameters: {
            query?: {
                sessionOnly?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProvidersResponse"];
                };
            };
        };
    };
    startProviderLogin: {
        parameters: {
            query?: {
                redirect?: string;
            };
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    completeProviderLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteProviderLoginBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokensResponse"];
                };
            };
        };
    };
    finishProviderLogin: {
        parameters: {
            query?: {
                code?: string;
                state?: string;
                iss?: string;
                error?: string;
            };
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderTokens"];
                };
            };
        };
    };
    submitProviderLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["ProviderCallbackForm"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderTokens"];
                };
            };
        };
    };
    listIdentities: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentitiesResponse"];
                };
            };
        };
    };
    linkIdentity: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LinkIdentityBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkIdentityResponse"];
                };
            };
        };
    };
    unlinkIdentity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listIdentitiesOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentitiesResponse"];
                };
            };
        };
    };
    unlinkIdentityOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                identity: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listMySessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsResponse"];
                };
            };
        };
    };
    endMyOtherSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    endMySession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listSessionsOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsOfUserResponse"];
                };
            };
        };
    };
    endSessionsOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    endSessionOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    startPasskeyRegistration: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyCreationOptionsResponse"];
                };
            };
        };
    };
    listPasskeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeysResponse"];
                };
            };
        };
    };
    addPasskey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddPasskeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyResponse"];
                };
            };
        };
    };
    removePasskey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    renamePasskey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenamePasskeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyResponse"];
                };
            };
        };
    };
    listPasskeysOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeysResponse"];
                };
            };
        };
    };
    removePasskeyOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                passkey: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listMyGrants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantsResponse"];
                };
            };
        };
    };
    withdrawMyGrant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listGrantsOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantsResponse"];
                };
            };
        };
    };
    withdrawGrantOfUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                grant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readProfile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileResponse"];
                };
            };
        };
    };
    updateProfile: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ProfileChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileResponse"];
                };
            };
        };
    };
    requestEmailChange: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmailChangeBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    cancelEmailChange: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    confirmEmailChange: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmailConfirmBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    cancelEmailChangeByLink: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmailConfirmBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    exportAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountExportResponse"];
                };
            };
        };
    };
    readMe: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    deleteMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateMe: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateUserBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserUpdateResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeMyPassword: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeMyPasswordBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    trackPage: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrackPageBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    unlockUser: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "first_name" | "last_name" | "email" | "location" | "title" | "description" | "avatar" | "language" | "tfa_secret" | "status" | "role" | "token" | "last_access" | "last_page" | "provider" | "external_identifier" | "email_notifications" | "appearance" | "theme_dark" | "theme_light" | "created_at" | "email_verified_at" | "invite_expires_at")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    createUsers: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
                dry_run?: boolean;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUsersBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateUsersResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteUsers: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteUsersBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteUsersResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateUsers: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
                dry_run?: boolean;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateUsersBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsersUpdateResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readUser: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteUsersResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateUser: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateUserBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserUpdateResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    generateTfaSecret: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["GenerateTfaSecretBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TfaSecret"];
                };
            };
        };
    };
    enableTfa: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EnableTfaBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    disableTfa: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisableTfaBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createRecoveryCodes: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateRecoveryCodesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodesResponse"];
                };
            };
        };
    };
    disableTfaOfUser: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    invite: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InviteBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    acceptInvite: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptInviteBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    register: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    resendVerification: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResendVerificationBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    verifyEmail: {
        parameters: {
            query?: {
                token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    confirmEmail: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmEmailBody"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readMyRoles: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleListResponse"];
                };
            };
        };
    };
    listRoles: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "name" | "icon" | "description" | "parent")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    createRoles: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRolesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateRolesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteRoles: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteRolesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteRolesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateRoles: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateRolesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleListResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readRole: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleResponse"];
                };
            };
        };
    };
    deleteRole: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteRolesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateRole: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RoleChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readMyGlobals: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GlobalsResponse"];
                };
            };
        };
    };
    listPolicies: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "name" | "icon" | "description" | "enforce_tfa" | "admin_access" | "app_access")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    createPolicies: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePoliciesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatePoliciesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deletePolicies: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeletePoliciesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletePoliciesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updatePolicies: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdatePoliciesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyListResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readPolicy: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyResponse"];
                };
            };
        };
    };
    deletePolicy: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletePoliciesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updatePolicy: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PolicyChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readMyPermissions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MyPermissionsResponse"];
                };
            };
        };
    };
    explainPermissions: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExplainBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplanationResponse"];
                };
            };
        };
    };
    listPermissions: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "policy" | "collection" | "action")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    createPermissions: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePermissionsBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatePermissionsResponse"];
                };
            };
        };
    };
    deletePermissions: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeletePermissionsBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletePermissionsResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updatePermissions: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdatePermissionsBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionListResponse"];
                };
            };
        };
    };
    readPermission: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionResponse"];
                };
            };
        };
    };
    deletePermission: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletePermissionsResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updatePermission: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PermissionChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionResponse"];
                };
            };
        };
    };
    readSettings: {
        parameters: {
            query?: {
                fields?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsResponse"];
                };
            };
        };
    };
    updateSettings: {
        parameters: {
            query?: {
                fields?: string[];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SettingsInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createClientSecret: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientSecretResponse"];
                };
            };
        };
    };
    listClients: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "name" | "logo_uri" | "type" | "first_party" | "minimal_id_token" | "access_token_ttl" | "refresh_token_ttl" | "id_token_signed_response_alg" | "backchannel_logout_uri" | "pkce_required" | "created_at")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    createClients: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateClientsBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateClientsResponse"];
                };
            };
        };
    };
    deleteClients: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteClientsBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteClientsResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateClients: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateClientsBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientListResponse"];
                };
            };
        };
    };
    readClient: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientResponse"];
                };
            };
        };
    };
    deleteClient: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteClientsResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateClient: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ClientChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientResponse"];
                };
            };
        };
    };
    listResources: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "identifier" | "name" | "access_token_ttl" | "open_to_unregistered" | "created_at")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    createResources: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateResourcesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateResourcesResponse"];
                };
            };
        };
    };
    deleteResources: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteResourcesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteResourcesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateResources: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateResourcesBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceListResponse"];
                };
            };
        };
    };
    readResource: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceResponse"];
                };
            };
        };
    };
    deleteResource: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeleteResourcesResponse"];
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateResource: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResourceChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceResponse"];
                };
            };
        };
    };
    listMails: {
        parameters: {
            query?: {
                state?: "waiting" | "sending" | "failed" | "sent" | "dropped";
                user?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailListResponse"];
                };
            };
        };
    };
    retryMail: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    verifyActivity: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivityVerificationResponse"];
                };
            };
        };
    };
    listActivities: {
        parameters: {
            query?: {
                fields?: unknown[];
                filter?: string;
                search?: string;
                sort?: unknown[];
                limit?: number;
                offset?: number;
                page?: number;
                cursor?: string;
                aggregate?: string;
                groupBy?: ("id" | "timestamp" | "action" | "outcome" | "code" | "reason" | "user" | "actor" | "collection" | "item" | "ip" | "user_agent" | "request_id")[];
                meta?: components["schemas"]["MetaName"][];
                export?: "csv" | "ndjson";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivityQueryResponse"];
                    "text/csv": components["schemas"]["CsvExport"];
                    "application/x-ndjson": components["schemas"]["NdjsonExport"];
                };
            };
        };
    };
    readActivity: {
        parameters: {
            query?: {
                fields?: unknown[];
                meta?: components["schemas"]["MetaName"][];
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivityResponse"];
                };
            };
        };
    };
    readStatistics: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                interval?: "hour" | "day" | "week" | "month";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatisticsResponse"];
                };
            };
        };
    };
    serverPing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": "pong";
                };
            };
        };
    };
    serverHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/health+json": components["schemas"]["Health"];
                };
            };
        };
    };
    serverInfo: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerInfoResponse"];
                };
            };
        };
    };
}
