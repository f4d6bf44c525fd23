"""`scaletest profiles`: what is shipped, and what each is for."""

__all__ = ["profiles"]


def profiles() -> None:
    """List the shipped profiles.

    \b
    Example:
      scaletest profiles
    """
    from scaletest_runner.listing import show_profiles

    show_profiles()
